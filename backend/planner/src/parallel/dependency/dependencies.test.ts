import type { DirectAttribute, PacketField } from '@orrery/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { profiled } from '../../testing/parallel.js';
import { dependencies } from './dependencies.js';

const FIREWALL = profiled('firewall', { reads: ['ip.src', 'ip.dst'], may_drop: true }, 'static');
const DYNAMIC_NAT = profiled('nat', { reads: ['port.dst'], writes: ['ip.dst'] }, 'flow');
const STATIC_NAT = profiled('static-nat', { reads: ['port.dst'], writes: ['ip.dst'] }, 'static');
const MONITOR = profiled('monitor', { reads: ['ip.dst', 'length'] }, 'flow');
const VPN = profiled('vpn', { reads: ['payload'], writes: ['payload'], adds: ['ip.dscp'] });
const UNWRAP = profiled('unwrap', { removes: ['ip.dscp'] });
const LIMITER = profiled('limiter', { reads: ['length'], may_drop: true }, 'aggregate');
const ALL = [FIREWALL, DYNAMIC_NAT, STATIC_NAT, MONITOR, VPN, UNWRAP, LIMITER];

const pair = (a: { id: string }, b: { id: string }) =>
  dependencies(
    [
      { id: 'a', nf: a.id },
      { id: 'b', nf: b.id },
    ],
    ALL,
  )[0]!;
const sentences = (a: { id: string }, b: { id: string }) => pair(a, b).conflicts.map(({ sentence }) => sentence);

describe('dependencies', () => {
  it.each(['none', 'static', 'flow', 'aggregate'] as const)(
    'a reader of streams keeps state of flows, also where its own state is %s',
    (kind) => {
      const reader = { ...profiled('reader', {}, kind), state: { kind, key: [] } };
      const writer = profiled('writer', { writes: ['ip.src'] });
      const conflictsBehind = (nf: string) =>
        dependencies(
          [
            { id: 'a', nf },
            { id: 'b', nf: 'reader', readsStreams: true },
          ],
          [...ALL, writer, reader],
        )[0]!.conflicts.map((conflict) => conflict.kind);
      expect(conflictsBehind('firewall')).toEqual(['drop-state']);
      expect(conflictsBehind('writer')).toEqual(['write-read']);
    },
  );

  it('a firewall before a dynamic NAT is not parallel, before a static NAT it is (HydraNF 6.2, figure 6.1)', () => {
    expect(pair(FIREWALL, DYNAMIC_NAT).parallel).toBe(false);
    expect(sentences(FIREWALL, DYNAMIC_NAT)).toEqual([
      'a may drop a packet, b keeps state of flows and would still see it',
    ]);
    expect(pair(FIREWALL, STATIC_NAT)).toMatchObject({ parallel: true, conflicts: [] });
    expect(pair(FIREWALL, STATIC_NAT).order).toMatchObject([{ kind: 'read-write', field: 'ip.dst' }]);
  });

  it('names each field in conflict, for people and as data', () => {
    expect(pair(STATIC_NAT, MONITOR).conflicts).toEqual([
      { earlier: 0, later: 1, kind: 'write-read', field: 'ip.dst', sentence: 'a writes ip.dst, b reads ip.dst' },
    ]);
    expect(sentences(STATIC_NAT, DYNAMIC_NAT)).toEqual(['a writes ip.dst, b writes ip.dst']);
    expect(pair(VPN, UNWRAP).conflicts.map(({ kind }) => kind)).toEqual(['add-remove', 'length']);
    expect(sentences(VPN, MONITOR)).toEqual(['a changes the length of packets, b reads length']);
    expect(sentences(FIREWALL, LIMITER)).toEqual([
      'a may drop a packet, b counts over all packets and would still see it',
    ]);
  });

  it('reading before another writes, and state before another drops, only keep their order', () => {
    expect(pair(MONITOR, STATIC_NAT)).toMatchObject({ parallel: true, order: [{ kind: 'read-write' }] });
    expect(pair(MONITOR, FIREWALL)).toMatchObject({ parallel: true, order: [{ kind: 'state-drop', field: null }] });
    expect(pair(LIMITER, VPN).order.map(({ sentence }) => sentence)).toEqual([
      'a reads length, b changes length afterwards',
    ]);
    expect(pair(FIREWALL, FIREWALL)).toMatchObject({ parallel: true, order: [] });
  });

  it('takes a field by which state is kept as one that is read, whichever NF of the pair keeps it', () => {
    fc.assert(
      fc.property(
        fc.constantFrom<PacketField>('ip.src', 'ip.dst', 'ip.proto', 'port.src', 'port.dst'),
        fc.constantFrom('static', 'flow', 'aggregate', 'none'),
        fc.boolean(),
        (field, kind, reads) => {
          const state = { kind, key: [field as DirectAttribute] };
          const keeper = { ...profiled('keeper', { reads: reads ? [field] : [] }, kind), state };
          const writer = profiled('writer', { writes: [field] });
          const of = (a: string, b: string) =>
            dependencies(
              [
                { id: 'a', nf: a },
                { id: 'b', nf: b },
              ],
              [keeper, writer],
            )[0]!;
          const matters = reads || kind !== 'none';
          expect(of('writer', 'keeper').parallel).toBe(!matters);
          expect(of('keeper', 'writer').order).toHaveLength(matters ? 1 : 0);
        },
      ),
      { numRuns: 40, seed: 11 },
    );
    const keeper = { ...profiled('keeper', {}, 'flow'), state: { kind: 'flow' as const, key: ['ip.dst' as const] } };
    const [found] = dependencies(
      [
        { id: 'a', nf: STATIC_NAT.id },
        { id: 'b', nf: 'keeper' },
      ],
      [STATIC_NAT, keeper],
    );
    expect(found!.conflicts[0]!.sentence).toBe('a writes ip.dst, b keeps state by ip.dst');
  });

  it('gives every pair once, and refuses what it cannot know', () => {
    const chain = ALL.map(({ id }) => ({ id, nf: id }));
    expect(dependencies(chain, ALL)).toHaveLength(21);
    expect(() => dependencies([{ id: 'x', nf: 'nothing' }], ALL)).toThrow(
      expect.objectContaining({ field: '/chain/0/nf' }),
    );
    expect(() => dependencies([chain[0]!, chain[0]!], ALL)).toThrow(expect.objectContaining({ field: '/chain/1/id' }));
    const long = Array.from({ length: 31 }, (_, i) => ({ id: `n${i}`, nf: 'vpn' }));
    expect(() => dependencies(long, ALL)).toThrow(expect.objectContaining({ field: '/chain' }));
  });
});
