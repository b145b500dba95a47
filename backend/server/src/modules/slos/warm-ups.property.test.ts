import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type WarmUp, WarmUps } from './warm-ups.js';

const WARM_UP_MS = 10_000;
const TICK_MS = 1000;
const PERIOD_S = 300;
const MOST_S = 30;

/** What is said each second of a chain of which something else runs at these seconds. */
function played(changes: readonly number[], seconds: number): WarmUp[] {
  const warmUps = new WarmUps(WARM_UP_MS);
  let steadyFrom = 0;
  return Array.from({ length: seconds }, (_, s) => {
    if (changes.includes(s)) steadyFrom = s;
    const said = warmUps.of('c', s - steadyFrom, s * TICK_MS);
    warmUps.looked('c', said === 'on', s * TICK_MS);
    warmUps.forget(s * TICK_MS);
    return said;
  });
}

const changes = fc.array(fc.integer({ min: 1, max: 1200 }), { maxLength: 150 });

it('leaves no chain unjudged for more than a tenth of any five minutes, however often it changes', () => {
  fc.assert(
    fc.property(fc.oneof(changes, fc.constant(Array.from({ length: 1200 }, (_, s) => s))), (when) => {
      const said = played(when, 1200);
      // The first verdict stands for no time.
      for (let from = 1; from + PERIOD_S <= said.length; from++)
        expect(said.slice(from, from + PERIOD_S).filter((each) => each === 'on').length).toBeLessThanOrEqual(MOST_S);
    }),
    { numRuns: 60 },
  );
});

it('gives each change its whole warm-up while there are few, and begins none again before what runs was steady', () => {
  fc.assert(
    fc.property(changes, (when) => {
      const said = played(when, 1200);
      said.forEach((each, s) => {
        const isNew = s < 10 || when.some((at) => at <= s && at > s - 10);
        expect(each === 'over').toBe(!isNew);
        if (each === 'spent' && said[s + 1] !== undefined) expect(said[s + 1]).not.toBe('on');
        const recent = said.slice(Math.max(0, s - PERIOD_S), s).filter((it) => it === 'on').length;
        if (each === 'spent' && said[s - 1] !== 'spent') expect(recent).toBeGreaterThanOrEqual(MOST_S - 1);
      });
    }),
    { numRuns: 100 },
  );
});

it('tells chains apart, and counts no time in which nothing was evaluated', () => {
  const warmUps = new WarmUps(WARM_UP_MS);
  const look = (chain: string, nowMs: number) => {
    const said = warmUps.of(chain, 0, nowMs);
    warmUps.looked(chain, said === 'on', nowMs);
    return said;
  };
  for (let s = 0; s <= MOST_S; s++) expect(look('a', s * TICK_MS)).toBe('on');
  expect([look('a', 31_000), look('b', 31_000)]).toEqual(['spent', 'on']);
  // An hour of which only two seconds count.
  expect([look('b', 3_631_000), look('b', 3_632_000)]).toEqual(['on', 'on']);
});
