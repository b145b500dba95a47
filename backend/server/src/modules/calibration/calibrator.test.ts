import type { Infrastructure } from '@orrery/contract';
import { NOT_CALIBRATED } from '@orrery/planner';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Calibrator } from './calibrator.js';

const PACKETS = 1000;
const servers = (origins: Record<string, 'twin' | 'live'>) =>
  ({ servers: Object.entries(origins).map(([id, origin]) => ({ id, origin })) }) as unknown as Infrastructure;
const TWO_LIVE = servers({ a: 'live', b: 'live' });

/** One window at server `a` every ten seconds. */
function fed(means: readonly number[], infrastructure = TWO_LIVE) {
  const calibrator = new Calibrator(NOT_CALIBRATED);
  means.forEach((mean_us, i) => {
    const measured = { of: 'entries', servers: ['a'], mean_us, sd_us: mean_us / 2 } as const;
    calibrator.add(measured, PACKETS, 10_000 * (i + 1), infrastructure);
  });
  calibrator.renew(infrastructure);
  return calibrator;
}

describe('Calibrator', () => {
  it('takes the median of at least three windows, for the server that they were measured on', () => {
    expect(fed([10, 12]).current).toEqual(NOT_CALIBRATED);
    const { entries } = fed([10, 12, 500]).current;
    expect(Object.keys(entries)).toEqual(['a']);
    expect(entries.a).toMatchObject({ mean_us: 12, sd_us: 6, windows: 3, packets: 3 * PACKETS, measured_ms: 30_000 });
    expect(entries.a!.mean_error_us).toBeCloseTo(2 * 1.4826, 6);
  });

  it('stays with the overhead whatever a minority of windows shows, and forgets old ones', () => {
    const normal = fc.double({ min: 9, max: 11, noNaN: true });
    const outlier = fc.double({ min: 100, max: 1e6, noNaN: true });
    fc.assert(
      fc.property(
        fc.array(normal, { minLength: 15, maxLength: 16 }),
        fc.array(outlier, { maxLength: 14 }),
        fc.integer({ min: 0, max: 14 }),
        (good, bad, at) => {
          const { mean_us } = fed([...good.slice(0, at), ...bad, ...good.slice(at)]).current.entries.a!;
          expect(mean_us).toBeGreaterThanOrEqual(9);
          expect(mean_us).toBeLessThanOrEqual(11);
        },
      ),
    );
    const { mean_us, windows } = fed([...Array(100).fill(500), ...Array(30).fill(10)]).current.entries.a!;
    expect({ mean_us, windows }).toEqual({ mean_us: 10, windows: 30 });
  });

  it('measures the servers of the twin as one machine', () => {
    const { entries } = fed([10, 10, 10], servers({ a: 'twin', b: 'twin', c: 'live' })).current;
    expect(Object.keys(entries).sort()).toEqual(['a', 'b']);
    expect(entries.b).toEqual(entries.a);
  });

  it('changes only for what differs, so that plans stay as they are', () => {
    const calibrator = fed([10, 10, 10]);
    const { current } = calibrator;
    const measured = { of: 'entries', servers: ['a'], mean_us: 10.1, sd_us: 5 } as const;
    calibrator.add(measured, PACKETS, 40_000, TWO_LIVE);
    expect(calibrator.renew(TWO_LIVE)).toBe(false);
    expect(calibrator.current).toBe(current);
    for (let i = 0; i < 30; i++) calibrator.add({ ...measured, mean_us: 20 }, PACKETS, 50_000 + 10_000 * i, TWO_LIVE);
    expect(calibrator.renew(TWO_LIVE)).toBe(true);
    expect(calibrator.current.entries.a).toMatchObject({ mean_us: 20 });
  });

  it('keeps what was stored until it is measured again, and forgets servers that are gone', () => {
    const stored = fed([10, 10, 10]).current;
    const calibrator = new Calibrator(stored);
    expect(calibrator.renew(TWO_LIVE)).toBe(false);
    expect(calibrator.current).toBe(stored);
    expect(calibrator.renew(servers({ b: 'live' }))).toBe(true);
    expect(calibrator.current.entries).toEqual({});
  });

  it('keeps hops apart', () => {
    const calibrator = new Calibrator(NOT_CALIBRATED);
    for (const t of [1, 2, 3]) calibrator.add({ of: 'hop', mean_us: 25, sd_us: 4 }, PACKETS, t, TWO_LIVE);
    expect(calibrator.renew(TWO_LIVE)).toBe(true);
    expect(calibrator.current).toMatchObject({ entries: {}, hop: { mean_us: 25, sd_us: 4 } });
  });
});
