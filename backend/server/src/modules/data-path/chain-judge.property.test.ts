import {
  type FabricSpec,
  type GraphEdge,
  type GraphNode,
  type Infrastructure,
  type Plan,
  sampleKey,
} from '@orrery/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CarriageMeter } from './carriage.js';
import { ChainJudge, type Judgement } from './chain-judge.js';
import { PacketMeter } from './packet-meter.js';
import { refusedKey, sectionsOf } from './sections.js';

const TICK_MS = 500;
const nf = (id: string, server: string) =>
  ({ kind: 'nf', id, chain_id: 'c', server, nf: 'any' }) as unknown as GraphNode;
const edge = (from: string | null, to: string) =>
  ({ id: `${from}-${to}`, chain_id: 'c', from, to, direction: 'forward' }) as unknown as GraphEdge;
const exit = { kind: 'exit', id: 'c.exit', chain_id: 'c', direction: 'forward' } as unknown as GraphNode;

/** Two instances of `a` on a server each, behind each of them an instance of `b` on another one. */
const graph = {
  nodes: [nf('a.0', 'server-1'), nf('a.1', 'server-1'), nf('b.0', 'server-2'), nf('b.1', 'server-3'), exit],
  edges: [
    ...[edge(null, 'a.0'), edge(null, 'a.1'), edge('a.0', 'b.0'), edge('a.1', 'b.1')],
    ...[edge('b.0', 'c.exit'), edge('b.1', 'c.exit')],
  ],
};
const fabric = {
  generation: 1,
  rules: [{ id: 'class', chain_id: 'c', kind: 'classify', from_hosts: ['client-1'] }],
} as unknown as FabricSpec;
const plan = { graph, fabric, chains: [{ chain_id: 'c' }] } as unknown as Plan;
const LINK = { id: 'l', a: { node: 'server-2', port: 'nic0' }, b: { node: 'leaf-1', port: 'p2' } };
const site = { switches: [{ id: 'leaf-1' }], servers: [], hosts: [], links: [LINK] } as unknown as Infrastructure;

interface Packet {
  readonly atMs: number;
  /** Which of the instances takes it. */
  readonly path: 0 | 1;
}

interface Course {
  readonly packets: readonly Packet[];
  /** Whether a packet is lost between `a` and `b`, or else within `b`. */
  readonly isLost: (packet: Packet) => 'hop' | 'b' | false;
  readonly delaysMs: readonly number[];
  readonly endMs: number;
  readonly isLinkDown?: boolean;
}

/** What is told at each look of the loop, by reports as switches (every second) and agents (five times a second) send them. */
function play({ packets, isLost, delaysMs, endMs, isLinkDown = false }: Course) {
  const meter = new PacketMeter();
  const carriage = new CarriageMeter(() => []);
  carriage.follow(plan);
  const sections = sectionsOf(plan, site.switches);
  const counters: readonly (readonly [key: string, periodMs: number, counts: (packet: Packet) => boolean])[] = [
    [sampleKey('rule', 'leaf-1 class', 'pps'), 1000, () => true],
    ...([0, 1] as const).flatMap((path) => {
      const own = (id: string, metric: 'pps' | 'out_pps', counts: (packet: Packet) => boolean) =>
        [sampleKey('instance', `${id}.${path}`, metric), 200, (p: Packet) => p.path === path && counts(p)] as const;
      return [
        own('a', 'pps', () => true),
        own('a', 'out_pps', () => true),
        own('b', 'pps', (p) => isLost(p) !== 'hop'),
        own('b', 'out_pps', (p) => !isLost(p)),
      ];
    }),
    [sampleKey('chain', 'c', 'pps'), 200, (p) => !isLost(p)],
    [refusedKey('c'), 200, () => false],
  ];
  const reports = counters.flatMap(([key, periodMs, counts], which) => {
    const counted = Array.from({ length: Math.ceil(endMs / periodMs) }, () => 0);
    for (const packet of packets) if (counts(packet)) counted[Math.floor(packet.atMs / periodMs)]! += 1;
    return counted.map((count, n) => ({
      key,
      value: (1000 * count) / periodMs,
      atMs: (n + 1) * periodMs + delaysMs[(which + n) % delaysMs.length]!,
    }));
  });
  reports.sort((a, b) => a.atMs - b.atMs);
  const judge = new ChainJudge(meter, carriage);
  const down = isLinkDown ? site.links : [];
  const now = { infrastructure: site, down, lost: new Set<string>(), cutOff: [], areHeard: () => true };
  const told: { readonly nowMs: number; readonly what: string | undefined; readonly isTotal: boolean }[] = [];
  let last: Judgement | undefined;
  let next = 0;
  for (let nowMs = TICK_MS; nowMs <= endMs; nowMs += TICK_MS) {
    for (; next < reports.length && reports[next]!.atMs <= nowMs; next++) {
      const { key, value, atMs } = reports[next]!;
      meter.take(key, value, atMs);
      carriage.take([{ key, value, t_ms: 0, origin: 'twin' }], atMs);
    }
    last = judge.judge(
      { chainId: 'c', sections, nodes: graph.nodes.filter(isCounting), whyFull: () => '' },
      last,
      now,
      nowMs,
    );
    const [first] = last.told.troubles;
    told.push({ nowMs, what: first?.what, isTotal: first?.isTotal ?? false });
  }
  return told;
}

const isCounting = (node: GraphNode) => node.kind !== 'exit';

/** One after the other, alternately through both instances. */
function steady(pps: number, phaseMs: number, endMs: number): Packet[] {
  const gapMs = 1000 / pps;
  const count = Math.floor((endMs - phaseMs) / gapMs);
  return Array.from({ length: count }, (_, n) => ({ atMs: phaseMs + n * gapMs, path: n % 2 === 0 ? 0 : 1 }));
}

const delaysMs = fc.array(fc.integer({ min: 0, max: 180 }), { minLength: 20, maxLength: 20 });
const phaseMs = fc.integer({ min: 0, max: 999 });
const CUT_MS = 12_000;
const END_MS = 60_000;
const textsAfter = (told: ReturnType<typeof play>, ms: number) => [
  ...new Set(told.filter(({ nowMs }) => nowMs >= ms).map(({ what }) => what)),
];

describe.each([0.5, 1, 2, 5])('a chain of two paths that carries %d packets per second', (pps) => {
  it.each([
    [false, 'no packet from a.0 (server-1) arrives at b.0 (server-2)'],
    [true, 'link server-2 - leaf-1 is down: this chain loses part of its packets'],
  ])(
    'is told of one path that breaks, in the same words for as long as that lasts: link down %s',
    (isLinkDown, text) => {
      fc.assert(
        fc.property(phaseMs, delaysMs, (phase, delays) => {
          const told = play({
            packets: steady(pps, phase, END_MS),
            isLost: ({ atMs, path }) => path === 0 && atMs >= CUT_MS && 'hop',
            delaysMs: delays,
            endMs: END_MS,
            isLinkDown,
          });
          expect(textsAfter(told, 0)).toEqual([undefined, text]);
          expect(told.every(({ isTotal }) => !isTotal)).toBe(true);
          expect(textsAfter(told, CUT_MS + 3000 + 6000 / pps)).toEqual([text]);
        }),
        { numRuns: 25 },
      );
    },
  );

  it('is told that it loses everything once three packets are lost and none leaves it', () => {
    fc.assert(
      fc.property(phaseMs, delaysMs, (phase, delays) => {
        const told = play({
          packets: steady(pps, phase, END_MS),
          isLost: ({ atMs }) => atMs >= CUT_MS && 'b',
          delaysMs: delays,
          endMs: END_MS,
        });
        expect(textsAfter(told, 0)[0]).toBeUndefined();
        const last = textsAfter(told, CUT_MS + 6000 + 15_000 / pps);
        expect(last).toEqual(['no packet leaves b.0 (server-2) or b.1 (server-3)']);
        expect(told.at(-1)!.isTotal).toBe(true);
        // The place may become known later than the loss: one change of words, none back.
        const words = told.flatMap(({ what }, n) => (what && what !== told[n - 1]?.what ? [what] : []));
        expect(words.length).toBeLessThanOrEqual(3);
      }),
      { numRuns: 25 },
    );
  });
});

it('a chain of two paths of which one breaks never loses everything', () => {
  fc.assert(
    fc.property(fc.integer({ min: 6, max: 400 }), phaseMs, delaysMs, (pps, phase, delays) => {
      const endMs = CUT_MS + 8000;
      const told = play({
        packets: steady(pps, phase, endMs),
        isLost: ({ atMs, path }) => path === 0 && atMs >= CUT_MS && 'hop',
        delaysMs: delays,
        endMs,
      });
      expect(told.at(-1)!.what).toBe('no packet from a.0 (server-1) arrives at b.0 (server-2)');
      expect(told.some(({ isTotal }) => isTotal)).toBe(false);
    }),
    { numRuns: 150 },
  );
});

it('a chain of which the second path breaks later is told within 3 s to lose everything', () => {
  fc.assert(
    fc.property(fc.integer({ min: 20, max: 300 }), phaseMs, delaysMs, (pps, phase, delays) => {
      const secondMs = CUT_MS + 8000;
      const endMs = secondMs + 6000;
      const told = play({
        packets: steady(pps, phase, endMs),
        isLost: ({ atMs, path }) => atMs >= (path === 0 ? CUT_MS : secondMs) && 'hop',
        delaysMs: delays,
        endMs,
      });
      const total = told.find(({ isTotal }) => isTotal)!;
      expect(total.nowMs).toBeGreaterThan(secondMs);
      expect(total.nowMs).toBeLessThanOrEqual(secondMs + 3000);
    }),
    { numRuns: 25 },
  );
});

it('a chain that loses everything is told within 3.2 s, with the place, and that it is everything', () => {
  const rate = fc.integer({ min: 20, max: 300 });
  const place = fc.constantFrom('hop' as const, 'b' as const);
  fc.assert(
    fc.property(rate, phaseMs, delaysMs, place, (pps, phase, delays, lostIn) => {
      const endMs = CUT_MS + 10_000;
      const told = play({
        packets: steady(pps, phase, endMs),
        isLost: ({ atMs }) => atMs >= CUT_MS && lostIn,
        delaysMs: delays,
        endMs,
      });
      const begin = told.find(({ what }) => what !== undefined)!;
      expect(begin.nowMs).toBeGreaterThan(CUT_MS);
      expect(begin.nowMs).toBeLessThanOrEqual(CUT_MS + 3200 + TICK_MS);
      expect(begin.what).toMatch(lostIn === 'hop' ? /arrives at b\.\d/ : /^no packet leaves b\.\d/);
      expect(told.at(-1)!.isTotal).toBe(true);
      expect(told.filter(({ nowMs }) => nowMs >= begin.nowMs && nowMs < endMs).every(({ isTotal }) => isTotal)).toBe(
        true,
      );
    }),
    { numRuns: 25 },
  );
});
