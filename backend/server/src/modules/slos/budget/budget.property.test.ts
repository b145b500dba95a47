import type { AlertRule } from '@orrery/contract';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { AlertState, burning } from './alert-rules.js';
import { BucketRing } from './bucket-ring.js';
import { budgetOf, burnRate } from './budget.js';
import { SecondsHistory, type Verdict } from './seconds-history.js';

const EPOCH_S = 1_700_000_000;

/** Every second, in order; index 0 is the one that ends at `EPOCH_S + 1`. */
const seconds = fc
  .array(
    fc.record({
      verdict: fc.constantFrom<Verdict>('good', 'bad', 'unknown'),
      length: fc.integer({ min: 1, max: 900 }),
      measured: fc.option(fc.integer({ min: 1, max: 1000 }), { nil: null }),
    }),
    { minLength: 1, maxLength: 25 },
  )
  .map((runs) => runs.flatMap(({ length, ...each }) => Array.from({ length }, () => each)));

type Seconds = { readonly verdict: Verdict; readonly measured: number | null }[];

const after = (n: number) => 1000 * (EPOCH_S + n);

function recorded(all: Seconds, period_s: number): SecondsHistory {
  const history = new SecondsHistory(period_s, (a, b) => a > b);
  all.forEach(({ verdict, measured }, n) => {
    history.record(verdict, 1, measured, after(n + 1));
  });
  return history;
}

/** Of seconds that begin in a bucket of this length which overlaps the last `windowS`, counted one by one. */
function counted(all: Seconds, windowS: number, bucketS: number) {
  const now = EPOCH_S + all.length;
  const first = Math.floor((now - windowS) / bucketS) * bucketS;
  const those = all.filter((_, n) => EPOCH_S + n >= first);
  const of = (verdict: Verdict) => those.filter((each) => each.verdict === verdict).length;
  return { good_s: of('good'), bad_s: of('bad') };
}

const near = ({ good_s, bad_s }: { good_s: number; bad_s: number }) => ({
  good_s: expect.closeTo(good_s, 6),
  bad_s: expect.closeTo(bad_s, 6),
});

it('counts the seconds of every window and of the period as somebody who keeps each of them', () => {
  fc.assert(
    fc.property(
      seconds,
      fc.constantFrom(10, 60, 300, 3600, 21_600),
      fc.constantFrom(3600, 7200, 86_400),
      (all, windowS, period_s) => {
        const history = recorded(all as Seconds, period_s);
        const nowMs = after(all.length);
        expect(history.over(windowS, nowMs)).toEqual(near(counted(all as Seconds, windowS, 10)));
        const whole = counted(all as Seconds, period_s, 300);
        expect(history.overPeriod(nowMs)).toEqual(near(whole));
        const goal = 0.9;
        const budget = budgetOf(history, { goal, period_s, since_ms: after(0) }, nowMs);
        const allowed_s = 0.1 * period_s;
        expect(budget.left_s).toBeCloseTo(allowed_s - whole.bad_s, 6);
        expect(budget.left_share).toBeCloseTo(1 - whole.bad_s / allowed_s, 9);
        expect(budget.compliance).toEqual(
          whole.good_s + whole.bad_s > 0 ? expect.closeTo(whole.good_s / (whole.good_s + whole.bad_s), 9) : null,
        );
        if (all.length <= period_s)
          expect(budget.unknown_s).toBeCloseTo(all.filter(({ verdict }) => verdict === 'unknown').length, 6);
      },
    ),
    { numRuns: 60 },
  );
});

it('counts a verdict on many seconds as so many on one', () => {
  const ticks = fc.array(
    fc.record({
      verdict: fc.constantFrom<Verdict>('good', 'bad', 'unknown'),
      length: fc.integer({ min: 1, max: 400 }),
      measured: fc.option(fc.integer({ min: 1, max: 1000 }), { nil: null }),
    }),
    { minLength: 1, maxLength: 12 },
  );
  fc.assert(
    fc.property(ticks, (all) => {
      const [long, short] = [new SecondsHistory(3600, (a, b) => a > b), new SecondsHistory(3600, (a, b) => a > b)];
      let n = 0;
      for (const { verdict, length, measured } of all) {
        for (let second = 0; second < length; second++) short.record(verdict, 1, measured, after(++n));
        long.record(verdict, length, measured, after(n));
        for (const windowS of [10, 60, 300, 3600])
          expect(long.over(windowS, after(n))).toEqual(near(short.over(windowS, after(n))));
        expect(long.overPeriod(after(n))).toEqual(near(short.overPeriod(after(n))));
      }
      expect(long.judged_s).toBe(short.judged_s);
    }),
    { numRuns: 60 },
  );
});

it('fires and resolves an alert as somebody who keeps each second, and never twice without an end', () => {
  const rule: AlertRule = { long_s: 600, short_s: 60, burn: 5, severity: 'warning' };
  const goal = 0.95;
  let fired = 0;
  fc.assert(
    fc.property(seconds, (given) => {
      const all = given as Seconds;
      const history = new SecondsHistory(86_400, (a, b) => a > b);
      const state = new AlertState(rule, false);
      let isOpen = false;
      /** Seconds judged since the short window last exceeded. */
      let calm = 0;
      for (let n = 0; n < Math.min(all.length, 3000); n++) {
        const { verdict, measured } = all[n]!;
        history.record(verdict, 1, measured, after(n + 1));
        const change = state.take(
          burning(rule, goal, (s) => history.over(s, after(n + 1))),
          history.judged_s,
        );
        if (verdict !== 'unknown') calm++;
        if (n % 7 !== 0 && change === null) continue;
        const past = all.slice(0, n + 1);
        const [long, short] = [counted(past, rule.long_s, 10), counted(past, rule.short_s, 10)];
        const rate = (judged: typeof long) => burnRate(judged, goal) ?? 0;
        const exceeds = rate(long) >= rule.burn && rate(short) >= rule.burn && long.good_s + long.bad_s >= rule.short_s;
        if (change === 'fires') {
          expect([isOpen, exceeds]).toEqual([false, true]);
          isOpen = true;
          calm = 0;
          fired++;
        } else if (change === 'resolves') {
          expect(isOpen).toBe(true);
          expect(rate(short)).toBeLessThan(rule.burn);
          expect(short.good_s).toBeGreaterThan(0);
          expect(calm).toBeGreaterThanOrEqual(rule.short_s);
          isOpen = false;
        } else if (!isOpen) expect(exceeds).toBe(false);
        if (isOpen && rate(short) >= rule.burn) calm = 0;
      }
    }),
    { numRuns: 40 },
  );
  expect(fired).toBeGreaterThan(5);
});

it('takes a gap, and more seconds than there are, for what they are', () => {
  const history = new SecondsHistory(3600, (a, b) => a > b);
  history.record('bad', 1, 5, after(1));
  history.record('good', 1, 7, after(100));
  expect(history.over(3600, after(100))).toEqual(near({ good_s: 1, bad_s: 1 }));
  for (let n = 0; n < 100; n++) history.record('bad', 1, null, after(200));
  expect(history.over(3600, after(200)).bad_s).toBeLessThanOrEqual(21);
  expect(history.overPeriod(after(200 + 2 * 3600))).toEqual({
    good_s: expect.closeTo(0, 6),
    bad_s: expect.closeTo(0, 6),
  });
});

it('keeps what ticks of any length add up to, to a part of a bucket', () => {
  const tick = fc.double({ min: 0.001, max: 2, noNaN: true });
  fc.assert(
    fc.property(fc.array(fc.tuple(tick, fc.boolean()), { minLength: 1, maxLength: 400 }), (ticks) => {
      const ring = new BucketRing(300, 20);
      let at = 0;
      const all = { good_s: 0, bad_s: 0 };
      for (const [length, isGood] of ticks) {
        at += length;
        const portion = { good_s: isGood ? length : 0, bad_s: isGood ? 0 : length };
        all.good_s += portion.good_s;
        all.bad_s += portion.bad_s;
        ring.add(Math.floor(at / 290), { ...portion, measured: length }, (a, b) => a > b);
      }
      const kept = ring.sumAt(5);
      expect(Math.abs(kept.good_s - all.good_s)).toBeLessThan(0.01);
      expect(Math.abs(kept.bad_s - all.bad_s)).toBeLessThan(0.01);
      expect(ring.sum(0, 5)).toEqual(kept);
    }),
    { numRuns: 50 },
  );
});

it('says when the last violation began, over short pauses', () => {
  const verdicts: [Verdict, number][] = [
    ['bad', 20],
    ['good', 600],
    ['bad', 10],
    ['good', 20],
    ['bad', 30],
    ['good', 90],
  ];
  const all = verdicts.flatMap(([verdict, length]) => Array.from({ length }, () => ({ verdict, measured: null })));
  expect(recorded(all, 3600).violation()).toEqual({ began_ms: after(620), seen_ms: after(621) });
  expect(recorded(all.slice(620), 3600).violation()).toEqual({ began_ms: after(0), seen_ms: after(1) });
  expect(new SecondsHistory(3600, () => false).violation()).toBeNull();
  const within = recorded(all.slice(17), 3600);
  expect(within.violation()).toEqual({ began_ms: after(603), seen_ms: after(604) });
  // Another server knows it to the bucket.
  const again = new SecondsHistory(3600, () => false);
  for (const bucket of within.fine.buckets()) again.fine.restore(bucket);
  expect(again.violation()).toEqual({ began_ms: after(600), seen_ms: after(610) });
  again.record('bad', 1, null, after(775));
  expect(again.violation()).toEqual({ began_ms: after(774), seen_ms: after(775) });
});
