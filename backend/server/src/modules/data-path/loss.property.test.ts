import { type Plan, sampleKey } from '@orrery/contract';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { CarriageMeter } from './carriage.js';
import { LONG_S, type Loss, lasts, lossOf, SHORT_S } from './loss.js';

const END_MS = 40_000;
const TICK_MS = 500;
const plan = {
  fabric: { generation: 1, rules: [{ id: 'classify-1', kind: 'classify', chain_id: 'c' }] },
  graph: { nodes: [], edges: [] },
} as unknown as Plan;

/** Packets that have entered by a time. */
type Traffic = (ms: number) => number;

interface Reports {
  readonly periodMs: number;
  readonly delayMs: number;
  /** Packets counted between two times. */
  readonly count: (fromMs: number, toMs: number) => number;
  readonly key: string;
}

/** Whether a loss is told, judged twice a second as the loop does, of what a switch and an exit report. */
function play(reports: readonly Reports[]): boolean[] {
  const meter = new CarriageMeter(() => []);
  meter.follow(plan);
  const all = reports.flatMap(({ periodMs, delayMs, count, key }) =>
    Array.from({ length: END_MS / periodMs }, (_, n) => ({
      key,
      atMs: (n + 1) * periodMs + delayMs,
      value: (count(n * periodMs, (n + 1) * periodMs) * 1000) / periodMs,
    })),
  );
  all.sort((a, b) => a.atMs - b.atMs);
  const told: boolean[] = [];
  let loss: Loss | null = null;
  for (let nowMs = TICK_MS; nowMs <= END_MS; nowMs += TICK_MS) {
    while (all[0] && all[0].atMs <= nowMs) {
      const { key, value, atMs } = all.shift()!;
      meter.take([{ key, value, t_ms: 0, origin: 'twin' }], atMs);
    }
    loss = lossOf(loss, meter.carriage('c', LONG_S, nowMs), meter.carriage('c', SHORT_S, nowMs), nowMs);
    told.push(loss !== null && lasts(loss, nowMs));
  }
  return told;
}

const delays = fc.record({
  switchMs: fc.integer({ min: 0, max: 400 }),
  exitMs: fc.integer({ min: 0, max: 150 }),
  wayMs: fc.integer({ min: 0, max: 20 }),
});

/** `carriedOf`: how many of so many packets in a row, between two times, get through. */
function reportsOf(
  traffic: Traffic,
  { switchMs, exitMs, wayMs }: { switchMs: number; exitMs: number; wayMs: number },
  carriedOf: (packets: number, fromMs: number) => number,
): Reports[] {
  const entered = (fromMs: number, toMs: number) => traffic(toMs) - traffic(fromMs);
  return [
    { key: sampleKey('rule', 'leaf-1 classify-1', 'pps'), periodMs: 1000, delayMs: switchMs, count: entered },
    {
      key: sampleKey('chain', 'c', 'pps'),
      periodMs: 200,
      delayMs: exitMs,
      count: (fromMs, toMs) => carriedOf(entered(fromMs - wayMs, toMs - wayMs), fromMs),
    },
  ];
}

const bursts = fc
  .array(fc.tuple(fc.integer({ min: 0, max: END_MS }), fc.integer({ min: 1, max: 2000 })), { maxLength: 60 })
  .map(
    (list): Traffic =>
      (ms) =>
        list.reduce((sum, [at, packets]) => sum + (at <= ms ? packets : 0), 0),
  );
const steady = fc.integer({ min: 20, max: 5000 }).map(
  (pps): Traffic =>
    (ms) =>
      Math.max(0, (pps * ms) / 1000),
);

it('tells no loss while every packet gets through, whatever the traffic, the phase of the reports and their delay', () => {
  fc.assert(
    fc.property(fc.oneof(bursts, steady), delays, (traffic, delay) => {
      expect(play(reportsOf(traffic, delay, (packets) => packets))).not.toContain(true);
    }),
    { numRuns: 300 },
  );
});

it('tells a loss of a tenth or more of steady traffic for as long as it lasts, and ends within four seconds', () => {
  const share = fc.double({ min: 0.1, max: 1, noNaN: true });
  const [fromMs, untilMs] = [5000, 25_000];
  fc.assert(
    fc.property(steady, delays, share, (traffic, delay, lost) => {
      const told = play(
        reportsOf(traffic, delay, (packets, ms) => (ms >= fromMs && ms < untilMs ? packets * (1 - lost) : packets)),
      );
      const at = (ms: number) => told[ms / TICK_MS - 1];
      expect(at(fromMs)).toBe(false);
      for (let ms = fromMs + 15_000; ms <= untilMs; ms += TICK_MS) expect(at(ms)).toBe(true);
      for (let ms = untilMs + 5000; ms <= END_MS; ms += TICK_MS) expect(at(ms)).toBe(false);
    }),
    { numRuns: 200 },
  );
});
