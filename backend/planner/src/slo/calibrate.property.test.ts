import {
  bucketOf,
  type Calibration,
  type ChainDefinition,
  mergeHistograms,
  Overhead,
  percentileNs,
} from '@orrery/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { makePlan } from '../plan/make-plan.js';
import { seededRandom } from '../random.js';
import { chainOf } from '../testing/chains.js';
import { descriptor } from '../testing/descriptors.js';
import { rack } from '../testing/infrastructure.js';
import type { MeasuredLatency } from './calibrate.js';
import { gammaQuantile, gammaThrough } from './gamma.js';
import { NOT_CALIBRATED, type Spread } from './overhead.js';
import { overheadMeasured, predictRunning } from './running.js';

const PACKETS = 20_000;
const SERVICE_US = 1;
const infrastructure = (servers: number) => rack({ servers, cores: 1, ghz: 1, nic_bps: 1e11, link_bps: 5e10 });
/** One microsecond a packet at 1 GHz, without base latency. */
const nf = (id: string) => {
  const it = descriptor(id, { cycles: 1000 });
  it.implementations[0]!.cost.base_latency_us = 0;
  return it;
};
const descriptors = ['a', 'b', 'c', 'd'].map(nf);
const SLOS = [50, 99].map((percentile) => ({ id: `p${percentile}`, kind: 'latency', percentile, max_us: 1e6 }));

/** A chain of so many NFs whose cores are busy for this share. */
function planned(length: number, rate_bps: number, servers = 1) {
  const ids = ['a', 'b', 'c', 'd'].slice(0, length);
  const path = ['in', ...ids, 'out'];
  const definition: ChainDefinition = chainOf(
    Object.fromEntries(ids.map((id) => [id, id])),
    path.slice(1).map((to, i): [string, string] => [path[i]!, to]),
    { rate_bps, slos: SLOS },
  );
  const given = {
    chains: [{ chain_id: 'p-1', version: 1, definition }],
    descriptors,
    infrastructure: infrastructure(servers),
  };
  const plan = makePlan({ ...given, id: 'plan', created_ms: 0, base: null, budget: { steps: 50 } });
  expect(plan.feasible).toBe(true);
  return { plan, descriptors, infrastructure: given.infrastructure, calibration: NOT_CALIBRATED };
}

const overhead = ({ mean_us, sd_us }: Spread, mean_error_us = 0, sd_error_us = 0) =>
  Overhead.parse({ mean_us, sd_us, mean_error_us, sd_error_us, windows: 10, packets: 12_400, measured_ms: 0 });

type Draw = () => number;
/** Draws from a gamma distribution by its quantiles. */
function drawer({ mean_us, sd_us }: Spread, random: Draw): Draw {
  const quantiles = Array.from({ length: 2000 }, (_, i) => gammaQuantile((i + 0.5) / 2000, mean_us, sd_us ** 2));
  return () => quantiles[Math.floor(random() * quantiles.length)]!;
}

/** A percentile as a window shows it, and between what that of all packets lies. */
interface Shown {
  readonly us: number;
  readonly low_us: number;
  readonly high_us: number;
}

interface Window {
  readonly p50: Shown;
  readonly p99: Shown;
}

/** Standard errors of a percentile's rank: one window in 16,000 is further off, whatever the distribution of times. */
const ERRORS = 4;
/** Width of a bucket of the exits' histogram, whose upper end is taken for a percentile. */
const RESOLUTION = 1 / 16;

/** What a window of packets with these times shows, through the exits' histogram. */
function windowOf(time: Draw): Window {
  const histogram = mergeHistograms(Array.from({ length: PACKETS }, () => [[bucketOf(time() * 1000), 1]]));
  const at = (percentile: number) => percentileNs(histogram, percentile)! / 1000;
  const shown = (percentile: number): Shown => {
    const error = ERRORS * Math.sqrt((percentile * (100 - percentile)) / PACKETS);
    return {
      us: at(percentile),
      low_us: at(percentile - error) / (1 + RESOLUTION),
      high_us: at(percentile + error),
    };
  };
  return { p50: shown(50), p99: shown(99) };
}

const shownBy = ({ p50, p99 }: Window): MeasuredLatency => ({ p50_us: p50.us, p99_us: p99.us });

/** What the window may have shown if its packets had been others. */
function* otherwise({ p50, p99 }: Window): Iterable<MeasuredLatency> {
  for (const p50_us of [p50.low_us, p50.high_us])
    for (const p99_us of [p99.low_us, p99.high_us]) yield { p50_us, p99_us };
}

function predicted(running: ReturnType<typeof planned>, calibration: Calibration): MeasuredLatency {
  const [p50, p99] = predictRunning({ ...running, calibration });
  return { p50_us: p50!.predicted, p99_us: p99!.predicted };
}

/**
 * Some of the predictions are within their bars, 10 % of the p50 and 20 % of the p99, of what the window can stand for: what
 * the draw of either window does not explain is the model's.
 */
function near(predictions: readonly MeasuredLatency[], { p50, p99 }: Window) {
  const within = (predicted_us: number[], { low_us, high_us }: Shown, bar: number) => {
    expect(Math.max(...predicted_us) * (1 + bar)).toBeGreaterThan(low_us);
    expect(Math.min(...predicted_us) * (1 - bar)).toBeLessThan(high_us);
  };
  const us = (key: keyof MeasuredLatency) => predictions.map((it) => it[key]);
  within(us('p50_us'), p50, 0.1);
  within(us('p99_us'), p99, 0.2);
}

/** Machines from quick and even to slow and ragged. */
const machine = fc.record({
  mean_us: fc.double({ min: 6, max: 80, noNaN: true }),
  ratio: fc.double({ min: 0.5, max: 1.3, noNaN: true }),
  seed: fc.integer({ min: 1, max: 1e6 }),
});

describe('an overhead that is measured', () => {
  it('predicts the latency of other chains on the server', () => {
    fc.assert(
      fc.property(machine, fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 4 }), (it, one, other) => {
        const random = seededRandom(it.seed);
        const entry = { mean_us: it.mean_us, sd_us: it.ratio * it.mean_us };
        const enter = drawer(entry, random);
        const service = () => -SERVICE_US * Math.log(1 - random());
        const measure = (length: number) =>
          windowOf(() => enter() + Array.from({ length }, service).reduce((sum, each) => sum + each, 0));
        const running = planned(one, 1e6);
        const window = measure(one);
        const found = overheadMeasured(running, 'p-1', shownBy(window))!;
        expect(found).toMatchObject({ of: 'entries', servers: ['server-1'] });
        const calibrations = [...otherwise(window)].map((it) => ({
          entries: { 'server-1': overhead(overheadMeasured(running, 'p-1', it)!) },
          hop: null,
        }));
        for (const [length, chain] of [
          [one, running],
          [other, planned(other, 1e6)],
        ] as const)
          near(
            calibrations.map((calibration) => predicted(chain, calibration)),
            measure(length),
          );
      }),
      { numRuns: 12 },
    );
  });

  it('is that of the hop where a chain crosses servers', () => {
    const random = seededRandom(7);
    const [entry, hop] = [
      { mean_us: 12, sd_us: 10 },
      { mean_us: 25, sd_us: 8 },
    ];
    // A core holds one NF at this rate.
    const running = planned(2, 0.6 * 8 * 800 * 1e6, 2);
    expect(running.plan.cost.cross_traffic_bps).toBeGreaterThan(0);
    const entries = { 'server-1': overhead(entry), 'server-2': overhead(entry) };
    const [enter, cross] = [drawer(entry, random), drawer(hop, random)];
    const wake = () => (random() < 0.4 ? enter() : 0);
    const sojourn = () => (-SERVICE_US / 0.4) * Math.log(1 - random());
    const measured = windowOf(() => wake() + sojourn() + cross() + wake() + sojourn());
    const known = { ...running, calibration: { entries, hop: null } };
    const found = overheadMeasured(known, 'p-1', shownBy(measured))!;
    expect(found.of).toBe('hop');
    near([predicted(running, { entries, hop: overhead(found) })], measured);
  });

  it('is none of a chain whose NFs wait for their part of a core', () => {
    const { plan, ...about } = planned(2, 1e9);
    const measured = { p50_us: 60, p99_us: 200 };
    expect(overheadMeasured({ plan, ...about }, 'p-1', measured)).not.toBeNull();
    const nodes = plan.graph.nodes.map((it) => (it.kind === 'nf' ? { ...it, cpu_limit: 0.05 } : it));
    const limited = { ...plan, graph: { ...plan.graph, nodes } };
    expect(overheadMeasured({ plan: limited, ...about }, 'p-1', measured)).toBeNull();
  });

  it('is none where the measurement is less than what the chain takes at least, or shows no spread', () => {
    expect(overheadMeasured(planned(1, 1e6), 'p-1', { p50_us: 5, p99_us: 5 })).toBeNull();
    expect(overheadMeasured(planned(1, 1e6), 'p-1', { p50_us: 0, p99_us: 5 })).toBeNull();
  });
});

describe('the band of a prediction', () => {
  const p50 = (calibration: Calibration) => predictRunning({ ...planned(1, 1e6), calibration })[0]!;
  const known = (error: number): Calibration => ({
    entries: { 'server-1': overhead({ mean_us: 20, sd_us: 10 }, error, error) },
    hop: null,
  });

  it('holds the prediction, is narrower where the machine was measured, and as wide as windows differ', () => {
    const width = (slo: ReturnType<typeof p50>) => {
      expect(slo.band!.low_us).toBeLessThan(slo.predicted);
      expect(slo.band!.high_us).toBeGreaterThan(slo.predicted);
      return (slo.band!.high_us - slo.band!.low_us) / slo.predicted;
    };
    const [unknown, even, ragged] = [NOT_CALIBRATED, known(0.1), known(3)].map((it) => width(p50(it)));
    expect(even).toBeLessThan(ragged!);
    expect(ragged).toBeLessThan(unknown!);
  });

  it('says what it comes from', () => {
    expect(p50(known(0)).model).toContain('calibrated on server-1: 12,400 packets until 1970-01-01 00:00 UTC');
    expect(p50(NOT_CALIBRATED).model).toContain('not calibrated on these machines');
  });
});

describe('gammaThrough', () => {
  it('finds the distribution of two quantiles', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 1, max: 1000, noNaN: true }),
        fc.double({ min: 0.1, max: 2, noNaN: true }),
        (mean, ratio) => {
          const variance = (ratio * mean) ** 2;
          const at = (p: number) => ({ p, value: gammaQuantile(p, mean, variance) });
          const found = gammaThrough(at(0.5), at(0.99));
          expect(found.mean / mean).toBeCloseTo(1, 3);
          expect(found.variance / variance).toBeCloseTo(1, 2);
        },
      ),
      { numRuns: 50 },
    );
  });
});
