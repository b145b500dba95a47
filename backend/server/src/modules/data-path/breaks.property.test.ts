import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Break, breakIn, isOver } from './breaks.js';
import { PacketMeter } from './packet-meter.js';
import type { Section } from './sections.js';

const SECTION: Section = {
  chain_id: 'c',
  scope: 'hop',
  nodes: [],
  mayRefuse: false,
  servers: [],
  way: { from: [], to: [] },
  from: { label: 'the switch', passes: ['rule'] },
  to: { label: 'c.nf.0', receives: ['in'], servers: [] },
};
const TICK_MS = 500;

interface Reporter {
  readonly counter: string;
  readonly periodMs: number;
  /** Time from a count to its arrival; less than the period. */
  readonly delayMs: (n: number) => number;
  /** Packets counted until a time. */
  readonly total: (ms: number) => number;
  /** Reports end here. */
  readonly untilMs?: number;
}

/** Plays the reports in the order of their arrival and judges twice a second, as the loop does. */
function play(section: Section, reporters: readonly Reporter[], endMs: number) {
  const meter = new PacketMeter();
  const reports = reporters.flatMap(({ counter, periodMs, delayMs, total, untilMs = endMs }) =>
    Array.from({ length: Math.floor(untilMs / periodMs) }, (_, n) => ({
      counter,
      atMs: (n + 1) * periodMs + delayMs(n),
      pps: ((total((n + 1) * periodMs) - total(n * periodMs)) * 1000) / periodMs,
    })),
  );
  reports.sort((a, b) => a.atMs - b.atMs);
  const states: { readonly nowMs: number; readonly broken: boolean }[] = [];
  let last: Break | null = null;
  for (let nowMs = TICK_MS; nowMs <= endMs; nowMs += TICK_MS) {
    while (reports[0] && reports[0].atMs <= nowMs) {
      const { counter, pps, atMs } = reports.shift()!;
      meter.take(counter, pps, atMs);
    }
    last = breakIn(section, meter, nowMs) ?? (last && !isOver(last, meter, nowMs) ? last : null);
    states.push({ nowMs, broken: last !== null });
  }
  return states;
}

/** Packets at random times, as a function that counts those until a time. */
const traffic = fc
  .array(fc.tuple(fc.integer({ min: 0, max: 30_000 }), fc.integer({ min: 1, max: 400 })), { maxLength: 60 })
  .map((bursts) => (ms: number) => bursts.reduce((sum, [at, packets]) => sum + (at <= ms ? packets : 0), 0));
const jitter = fc.array(fc.integer({ min: 0, max: 180 }), { minLength: 50, maxLength: 50 });
const delays = (list: readonly number[]) => (n: number) => list[n % list.length]!;

it('tells no break while packets arrive, whatever the traffic, the phase of the reports and their delay', () => {
  fc.assert(
    fc.property(traffic, jitter, jitter, fc.integer({ min: 0, max: 20 }), (total, a, b, wayMs) => {
      const states = play(
        SECTION,
        [
          { counter: 'rule', periodMs: 1000, delayMs: delays(a), total },
          { counter: 'in', periodMs: 200, delayMs: delays(b), total: (ms) => total(ms - wayMs) },
        ],
        30_000,
      );
      expect(states.filter(({ broken }) => broken)).toEqual([]);
    }),
    { numRuns: 1000 },
  );
});

it('tells a break within 3.2 s, and its end within a second, at any steady rate and phase', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 20, max: 5000 }),
      fc.integer({ min: 4000, max: 6000 }),
      fc.boolean(),
      jitter,
      jitter,
      (pps, cutMs, silent, a, b) => {
        const mendedMs = 15_000;
        const sent = (ms: number) => Math.floor((pps * ms) / 1000);
        const arrived = (ms: number) => sent(Math.min(ms, cutMs)) + Math.max(0, sent(ms) - sent(mendedMs));
        const rule = { counter: 'rule', periodMs: 1000, delayMs: delays(a), total: sent };
        const nf = { counter: 'in', periodMs: 200, delayMs: delays(b), total: arrived };
        const states = play(SECTION, [rule, silent ? { ...nf, untilMs: cutMs } : nf], 20_000);
        const brokenAt = (ms: number) => states.find(({ nowMs }) => nowMs >= ms)!.broken;
        expect(states.filter(({ nowMs, broken }) => broken && nowMs <= cutMs)).toEqual([]);
        expect(brokenAt(cutMs + 3200)).toBe(true);
        expect(brokenAt(mendedMs - TICK_MS)).toBe(true);
        if (!silent) expect(brokenAt(mendedMs + 1000)).toBe(false);
      },
    ),
    { numRuns: 1000 },
  );
});

it('is over when nothing has been passed on for a while', () => {
  const sent = (ms: number) => Math.min(ms, 8000) / 10;
  const states = play(
    SECTION,
    [
      { counter: 'rule', periodMs: 1000, delayMs: () => 50, total: sent },
      { counter: 'in', periodMs: 200, delayMs: () => 50, total: (ms) => sent(Math.min(ms, 4000)) },
    ],
    30_000,
  );
  expect(states.find(({ nowMs }) => nowMs === 12_000)!.broken).toBe(true);
  expect(states.at(-1)!.broken).toBe(false);
});

describe('a section in which packets may be refused and not counted', () => {
  const refusing = { ...SECTION, scope: 'chain' as const, mayRefuse: true };
  const steady =
    (pps: number, untilMs = Number.POSITIVE_INFINITY) =>
    (ms: number) =>
      Math.floor((pps * Math.min(ms, untilMs)) / 1000);
  const reports = (offered: (ms: number) => number, arrived: (ms: number) => number): Reporter[] => [
    { counter: 'rule', periodMs: 1000, delayMs: () => 50, total: offered },
    { counter: 'in', periodMs: 200, delayMs: () => 50, total: arrived },
  ];

  it('breaks when nothing has arrived for as long as packets are looked for, and is whole again with the first one', () => {
    const arrived = (ms: number) => steady(20, 10_000)(ms) + steady(20)(Math.max(0, ms - 30_000));
    const broken = play(refusing, reports(steady(20), arrived), 40_000).filter((state) => state.broken);
    expect(broken[0]!.nowMs).toBeGreaterThan(18_000);
    expect(broken[0]!.nowMs).toBeLessThanOrEqual(21_500);
    expect(broken.at(-1)!.nowMs).toBeLessThanOrEqual(31_000);
    expect(broken.at(-1)!.nowMs).toBeGreaterThanOrEqual(30_000);
  });

  it('does not while some packets arrive, few enter, or they come at once', () => {
    for (const [offered, arrived] of [
      [steady(50), steady(0.3)],
      [steady(4), steady(0)],
      [(ms: number) => (ms > 15_000 ? 5000 : 0), steady(0)],
    ] as const)
      expect(play(refusing, reports(offered, arrived), 40_000).some(({ broken }) => broken)).toBe(false);
  });
});
