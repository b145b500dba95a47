import { describe, expect, it } from 'vitest';
import { gainText, measuredGain, predictedGain } from './gain.js';
import { cyclesPerPacket } from './joint-cost.js';
import { latencyIn } from './measured-latency.js';
import type { KnownChain } from './use-chains.js';

/** Samples around a median, in five steps of `spread`. */
const around = (p50_us: number, spread = 0) => {
  const p50s = Array.from({ length: 60 }, (_, i) => p50_us + spread * ((i % 5) - 2));
  return latencyIn(
    p50s,
    p50s.map((each) => 3 * each),
  )!;
};

it('is the share saved in parallel, whichever of the two runs now', () => {
  expect(measuredGain('parallel', around(80), around(100))).toBeCloseTo(0.2);
  expect(measuredGain('sequential', around(100), around(80))).toBeCloseTo(0.2);
  expect(measuredGain('parallel', around(80), null)).toBeNull();
  expect(measuredGain('parallel', null, around(80))).toBeNull();
  expect(measuredGain(null, around(80), around(100))).toBeNull();
  expect(gainText(-0.05)).toBe('−5.0 %');
});

it('is predicted of medians, as it is measured', () => {
  const predicted = (p50_us: number, mean_us: number) => ({ predicted: { p50_us, mean_us, p99_us: 1000 } });
  const known = { sequential: predicted(100, 200), parallel: predicted(80, 300) } as unknown as KnownChain['in'];
  expect(predictedGain({ in: known })).toBeCloseTo(0.2);
});

describe('no difference', () => {
  it('is told where the samples of both spread over it', () => {
    expect(measuredGain('parallel', around(80, 15), around(100, 15))).toBe('none');
    expect(measuredGain('parallel', around(80, 5), around(100, 5))).toBeCloseTo(0.2);
    expect(measuredGain('sequential', around(80, 15), around(100, 15))).toBe('none');
  });

  it('is told within a bucket of the histograms, however steady the samples are', () => {
    expect(measuredGain('parallel', around(95), around(100))).toBe('none');
    expect(measuredGain('parallel', around(93), around(100))).toBeCloseTo(0.07);
  });
});

it('takes what is in the middle of enough samples', () => {
  const steps = Array.from({ length: 25 }, (_, i) => i + 1);
  expect(latencyIn([...steps.slice(1), 900], steps)).toEqual({
    p50_us: 14,
    p50_low_us: 8,
    p50_high_us: 20,
    p99_us: 13,
  });
  expect(latencyIn(steps.slice(1), steps)).toBeNull();
  expect(latencyIn([], [])).toBeNull();
});

it('counts the cycles for each packet by the clock of the server', () => {
  const infrastructure = { servers: [{ id: 'server-1', ghz: 2 }] } as Parameters<typeof cyclesPerPacket>[1];
  const joint = { core_share: 0.1, load_bps: 8e6, server: 'server-1' };
  expect(cyclesPerPacket(joint, infrastructure, 1000)).toBeCloseTo(200_000);
  expect(cyclesPerPacket({ ...joint, server: 'gone' }, infrastructure, 1000)).toBeNull();
  expect(cyclesPerPacket({ ...joint, load_bps: 0 }, infrastructure, 1000)).toBeNull();
});
