import type { FabricRule } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { row, rule } from '../../testing/row-of-switches.js';
import { lowerFabric } from './lower-fabric.js';
import { losesWays } from './own-programs.js';

describe('a switch with a P4 program of its own', () => {
  const withProgram = (of: readonly string[], switches = 3) => {
    const infrastructure = row(switches);
    return {
      ...infrastructure,
      switches: infrastructure.switches.map((one) =>
        of.includes(one.id) ? { ...one, driver: 'p4' as const, program: 'mine' } : one,
      ),
    };
  };
  const classify = (server: string, from: string[], more: Partial<FabricRule> = {}) =>
    rule('classify', [{ hop: 1, server }], { from_hosts: from, chain_id: 'chain', ...more });

  it('has no entries, and nothing is forwarded to it or through it', () => {
    const { switches, tables, faults } = lowerFabric(withProgram(['sw-2']), new Map(), []);
    expect(faults).toEqual([]);
    expect([...switches.keys()]).toEqual(['sw-1', 'sw-3']);
    expect(tables.map(({ id }) => id)).toEqual(['sw-1', 'sw-3']);
    for (const { ports, entries } of switches.values()) {
      expect(ports.map(({ neighbour }) => neighbour)).not.toContain('sw-2');
      const addresses = entries.flatMap(({ match }) => match.fields['ip.dst'] ?? []);
      expect(new Set(addresses.map((one) => 'value' in one && one.value)).size).toBe(1);
    }
  });

  it.each([
    ['of a host that hangs on it', ['sw-1'], classify('server-2', ['host-1']), 'sw-1', 'host-1'],
    ['of a server that hangs on it', ['sw-2'], classify('server-2', ['host-1']), 'sw-2', 'server-2'],
    ['across it', ['sw-2'], classify('server-3', ['host-1']), 'sw-2', 'host-1 and server-3'],
    [
      'to a host that hangs on it',
      ['sw-3'],
      classify('server-1', ['host-1'], { match: [{ field: 'ip.dst', prefix: '10.0.0.3/32', not: false }] }),
      'sw-3',
      'host-3',
    ],
  ])('is named by what cannot be lowered %s', (_what, own, one, where, carries) => {
    const { conflicts, faults } = lowerFabric(withProgram(own), new Map(), [one]);
    expect(conflicts).toMatchObject([{ constraint: 'switch-program', where }]);
    expect(faults).toEqual([
      `${where} runs the P4 program mine of its own, so it carries nothing for ${carries} (${one.id})`,
    ]);
  });

  it('is in nobody’s way elsewhere', () => {
    const { faults, switches } = lowerFabric(withProgram(['sw-3']), new Map(), [classify('server-2', ['host-1'])]);
    expect(faults).toEqual([]);
    expect(switches.get('sw-1')!.entries.some(({ rule_id }) => rule_id !== null)).toBe(true);
  });

  it.each([
    ['sw-1', true],
    ['sw-2', true],
    ['sw-3', false],
  ])('at %s takes a way of replies to the server at sw-1: %s', (own, loses) => {
    const replies = rule('return', [{ hop: 1, server: 'server-1' }]);
    expect(losesWays(replies, row(3), withProgram([own]))).toBe(loses);
  });
});
