import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Hysteresis } from './hysteresis.js';

const THRESHOLD = { metric: 'bps', up: 100, down: 40, for_s: 3 } as const;

describe('hysteresis', () => {
  it('is due only after the load has stayed beyond a threshold for long enough', () => {
    const hysteresis = new Hysteresis();
    expect(hysteresis.due(150, THRESHOLD, 0)).toBeNull();
    expect(hysteresis.due(150, THRESHOLD, 2999)).toBeNull();
    expect(hysteresis.due(150, THRESHOLD, 3000)).toBe('above');
    expect(hysteresis.due(99, THRESHOLD, 3100)).toBeNull();
    expect(hysteresis.due(150, THRESHOLD, 3200)).toBeNull();
    expect(hysteresis.due(10, THRESHOLD, 3300)).toBeNull();
    expect(hysteresis.due(10, THRESHOLD, 6300)).toBe('below');
  });

  it('is never due without enough seconds of samples beyond the threshold, whatever the load does', () => {
    const sample = fc.record({ load: fc.integer({ min: 0, max: 200 }), afterMs: fc.integer({ min: 1, max: 2000 }) });
    let due = 0;
    fc.assert(
      fc.property(fc.array(sample, { maxLength: 40 }), (samples) => {
        const hysteresis = new Hysteresis();
        let now = 0;
        const seen: { load: number; at: number }[] = [];
        for (const { load, afterMs } of samples) {
          now += afterMs;
          seen.push({ load, at: now });
          const side = hysteresis.due(load, THRESHOLD, now);
          if (side === null) continue;
          due++;
          const beyond = (it: number) => (side === 'above' ? it > THRESHOLD.up : it < THRESHOLD.down);
          const run = seen.slice(seen.findLastIndex((each) => !beyond(each.load)) + 1);
          expect(run.at(-1)!.at - run[0]!.at).toBeGreaterThanOrEqual(3000);
        }
      }),
      { numRuns: 500, seed: 1 },
    );
    expect(due).toBeGreaterThan(0);
  });
});
