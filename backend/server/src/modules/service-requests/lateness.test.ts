import fc from 'fast-check';
import { afterEach, expect, it, vi } from 'vitest';
import type { LoopRun } from '../../platform/control-loop/definition.js';
import { BoundWatch } from './bound-watch.js';
import { Lateness } from './lateness.js';
import { Searches } from './searches.js';

afterEach(() => void vi.useRealTimers());

it('a request is late once it has missed its bound for so long without a break, and no more once it has kept it for longer', () => {
  fc.assert(
    fc.property(fc.array(fc.option(fc.boolean(), { freq: 20 }), { minLength: 1, maxLength: 60 }), (misses) => {
      const lateness = new Lateness(5, 10);
      let isLate = false;
      const told = misses.map((now, second) => {
        const { late, kept } = lateness.judge([{ id: 'sr-1', isLate, misses: now }], second);
        if (late.length > 0) isLate = true;
        if (kept.length > 0) isLate = false;
        return isLate;
      });
      let expected = false;
      misses.forEach((_, second) => {
        const last = (count: number) => (second + 1 < count ? [] : misses.slice(second + 1 - count, second + 1));
        if (last(6).length === 6 && last(6).every((it) => it === true)) expected = true;
        if (last(11).length === 11 && last(11).every((it) => it === false)) expected = false;
        expect(told[second]).toBe(expected);
      });
    }),
  );
});

it('what is not judged for a while begins anew', () => {
  const lateness = new Lateness(5, 10);
  const missed = [{ id: 'sr-1', isLate: false, misses: true }];
  lateness.judge(missed, 0);
  lateness.judge([], 3);
  expect(lateness.judge(missed, 6).late).toEqual([]);
  lateness.forget();
  expect(lateness.judge(missed, 12).late).toEqual([]);
  expect(lateness.judge(missed, 17).late).toEqual(['sr-1']);
});

it('a late request stays late while nothing is measured of it, and is late no more once it has kept its bound', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  let us: number | null = null;
  const request = { id: 'sr-1', state: 'late', latency_us: 1000, way: {} };
  const changes: unknown[] = [];
  let look: (run: LoopRun) => Promise<unknown> = async () => undefined;
  const add = ({ run }: { run: typeof look }) => {
    look = run;
    return {};
  };
  const changeIn = (_: unknown, those: readonly unknown[], change: unknown) => {
    if (those.length > 0) changes.push(change);
  };
  const parts = [
    { add },
    { timing: { sloPeriodMs: 1000 } },
    { commit: async (work: (batch: unknown) => void) => work({}) },
    { all: () => [{ definition: { name: 'pool' } }] },
    { heldOf: () => [request], find: () => request, changeIn },
    { measuredLatencies: () => () => us },
  ];
  new BoundWatch(...(parts as unknown as ConstructorParameters<typeof BoundWatch>));
  const run = { decide: () => undefined, step: (work: Promise<unknown>) => work } as unknown as LoopRun;
  const goOn = async (seconds: number) => {
    for (let second = 0; second < seconds; second++) {
      vi.advanceTimersByTime(1000);
      await look(run);
    }
  };
  await goOn(30);
  expect(changes).toEqual([]);
  us = 10;
  await goOn(11);
  expect(changes).toMatchObject([{ state: 'active' }]);
});

it('other ways are sought for a few late requests at a time, and for each of them less and less often', () => {
  const searches = new Searches(1000);
  const late = Array.from({ length: 12 }, (_, i) => `sr-${i}`);
  expect(searches.inMs([], 0)).toBeNull();
  expect(searches.inMs(late, 0)).toBe(0);
  expect(searches.begin(late, 0)).toEqual(late.slice(0, 8));
  expect(searches.begin(late, 9999)).toEqual([]);
  expect(searches.inMs(late, 4000)).toBe(6000);
  // One that is late for less long comes last, wherever it stands.
  expect(searches.begin(['sr-new', ...late], 10_000)).toEqual([...late.slice(8), 'sr-new']);
  const one = new Searches(1000);
  const begun: number[] = [];
  for (let s = 0; s < 4000; s++) if (one.begin(['sr-1'], s * 1000).length > 0) begun.push(s);
  expect(begun).toEqual([0, 30, 90, 210, 450, 930, 1530, 2130, 2730, 3330, 3930]);
  // Ten minutes after it might have had another one, it is as if it had never been late.
  expect(one.begin(['sr-1'], 5_200_000)).toEqual(['sr-1']);
  expect(one.inMs(['sr-1'], 5_200_000)).toBe(30_000);
});
