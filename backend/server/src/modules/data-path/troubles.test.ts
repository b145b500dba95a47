import type { Infrastructure } from '@orrery/contract';
import { expect, it } from 'vitest';
import type { Break } from './breaks.js';
import type { Section } from './sections.js';
import { type Findings, troublesOf } from './troubles.js';

const LINK = { id: 's', a: { node: 'server-1', port: 'p' }, b: { node: 'leaf-1', port: 'p' } };
const SITE = { switches: [], servers: [], hosts: [], links: [LINK] } as unknown as Infrastructure;
const section = (from: string, to: string, scope: Section['scope'] = 'hop', nodes: readonly string[] = []): Break => ({
  section: {
    chain_id: 'c',
    scope,
    nodes,
    mayRefuse: false,
    servers: ['server-1'],
    way: { from: [], to: [] },
    from: { label: from, passes: [] },
    to: { label: to, receives: [], servers: [] },
  },
  packets: 3,
  sinceMs: 0,
});
const HOP = section('the switch', 'a.nf.0', 'hop', ['', 'a.nf.0']);
const WHOLE = section('the switch', 'the exit', 'chain', ['', 'a.nf.0', 'a.exit']);
const found = (findings: Partial<Findings>, links: Infrastructure['links'] = []) =>
  troublesOf(
    { breaks: [], cutOff: [], loss: null, delivers: false, stuck: [], ...findings },
    { down: links, lost: new Set() },
    SITE,
    10_000,
  );

it('names the place where packets are lost rather than the whole chain', () => {
  expect(found({ breaks: [HOP, WHOLE] })).toEqual([
    { kind: 'break', what: 'no packet from the switch arrives at a.nf.0', isTotal: true, link: null },
  ]);
});

it('names the NF that passes nothing on where every hop carries packets', () => {
  expect(found({ breaks: [WHOLE], stuck: [{ id: 'a.nf.0', label: 'a.nf.0' }] })).toMatchObject([
    { what: 'no packet leaves a.nf.0', isTotal: true },
  ]);
  expect(found({ breaks: [WHOLE] })).toMatchObject([
    { what: 'packets enter this chain and none leaves it', isTotal: true },
  ]);
});

it('names a step rather than the steps and the chain around it, and a hop rather than its step', () => {
  const outer = section('b or c', 'outer', 'step', ['outer.mirror', 'a', 'inner.mirror', 'b', 'c', 'inner', 'outer']);
  const inner = section('b', 'inner', 'step', ['inner.mirror', 'b', 'c', 'inner']);
  const hop = section('inner.mirror', 'b', 'hop', ['inner.mirror', 'b']);
  const other = section('x', 'y', 'hop', ['x', 'y']);
  const told = (...breaks: Break[]) => found({ breaks }).map(({ what }) => what);
  expect(told(outer, WHOLE)).toEqual(['copies from b or c do not arrive at outer']);
  expect(told(outer, inner, WHOLE)).toEqual(['copies from b do not arrive at inner']);
  expect(told(hop, outer, inner, WHOLE)).toEqual(['no packet from inner.mirror arrives at b']);
  expect(told(inner, other)).toEqual(['copies from b do not arrive at inner', 'no packet from x arrives at y']);
  const stuck = [
    { id: 'b', label: 'b (server-1)' },
    { id: 'z', label: 'z (server-1)' },
  ];
  expect(found({ breaks: [inner], stuck })).toMatchObject([{ what: 'no packet leaves b (server-1)' }]);
});

it('says where a share is lost, where that is known', () => {
  const loss = { sinceMs: 0, share: 0.25, place: { id: 'q', what: 'queue q is full: its task gets too little' } };
  expect(found({ loss, delivers: true })).toMatchObject([
    { what: '25 % of the packets that enter are lost: queue q is full: its task gets too little' },
  ]);
});

it('says of a chain that still delivers that it loses part of its packets', () => {
  const links = SITE.links;
  expect(found({ breaks: [HOP], delivers: true })).toMatchObject([{ isTotal: false }]);
  expect(found({ breaks: [HOP], delivers: true }, links)).toMatchObject([
    { what: 'link server-1 - leaf-1 is down: this chain loses part of its packets', isTotal: false, link: LINK },
  ]);
  expect(found({ breaks: [HOP] }, links)).toMatchObject([
    { what: 'link server-1 - leaf-1 is down: this chain loses everything', isTotal: true, link: LINK },
  ]);
});

it('names the switch on the way that passes no packets, where no link explains it', () => {
  const infrastructure = {
    ...SITE,
    boards: [],
    switches: [{ id: 'leaf-1' }],
    servers: [{ id: 'server-1', nics: [{ name: 'p' }], addresses: [] }],
    links: [LINK, { id: 'c', a: { node: 'client-1', port: 'p' }, b: { node: 'leaf-1', port: 'q' } }],
  } as unknown as Infrastructure;
  const hop = { ...HOP, section: { ...HOP.section, way: { from: ['client-1'], to: ['server-1'] } } };
  const findings = { breaks: [hop], cutOff: [], loss: null, delivers: false, stuck: [] };
  const what = (down: Infrastructure['links'], ...lost: string[]) =>
    troublesOf(findings, { down, lost: new Set(lost) }, infrastructure, 10_000).map((it) => it.what);
  expect(what([], 'leaf-1')).toEqual([
    'leaf-1 passes no packets, and no other way leads around it: this chain loses everything',
  ]);
  expect(what([], 'leaf-2')).toEqual(['no packet from the switch arrives at a.nf.0']);
  expect(what([LINK] as Infrastructure['links'], 'leaf-1')).toEqual([
    'link server-1 - leaf-1 is down: this chain loses everything',
  ]);
});

it('tells the share that is lost once that has lasted, unless the place is known', () => {
  const loss = { sinceMs: 5000, share: 0.404, place: null };
  expect(found({ loss, delivers: true })).toEqual([
    { kind: 'loss', what: '40 % of the packets that enter are lost', isTotal: false, link: null },
  ]);
  expect(found({ loss: { ...loss, sinceMs: 5001 }, delivers: true })).toEqual([]);
  expect(found({ loss, delivers: true, breaks: [HOP] })).toHaveLength(1);
});
