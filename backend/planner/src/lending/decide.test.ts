import { describe, expect, it } from 'vitest';
import { Lender, ONE, SSM, vnf } from '../testing/lending.js';
import { decideLending } from './decide.js';
import { jainIndex, switchOverhead } from './figures.js';
import { granted, NO_LOANS } from './state.js';

/** Load of a tunnel: 99 % in software, 84.5 % accelerated (Table I). */
const saturated = (isAccelerated: boolean) => (isAccelerated ? 0.845 : 0.99);

describe('the tunnels of Figure 6', () => {
  it('two: the second takes turns with the first from the end of its slice on', () => {
    const lender = new Lender(SSM).until(60, (s, has) => [
      vnf('vnf1', s < 12 ? 0.1 : saturated(has('vnf1'))),
      vnf('vnf2', s < 16 ? 0.1 : saturated(has('vnf2'))),
    ]);
    expect(lender.grants).toEqual([
      [12, 'vnf1'],
      [23, 'vnf2'],
      [34, 'vnf1'],
      [45, 'vnf2'],
      [56, 'vnf1'],
    ]);
  });

  it('four, each with 0.4 of a core, take turns of one slice in the same order', () => {
    // Thresholds are shares of what a VNF may use: 0.396 of 0.4 cores is 99 %.
    const lender = new Lender(SSM).until(140, (s, has) =>
      [1, 2, 3, 4].map((n) => vnf(`vnf${n}`, s < 2 * n ? 0 : (0.4 * saturated(has(`vnf${n}`))) / 0.4)),
    );
    expect(lender.grants.map(([, id]) => id).join(' ')).toBe(
      Array.from({ length: 13 }, (_, n) => `vnf${(n % 4) + 1}`).join(' '),
    );
    expect(lender.grants.map(([s]) => s)).toEqual(Array.from({ length: 13 }, (_, n) => 2 + 11 * n));
  });
});

describe('a holder', () => {
  it('gives up at once when its usage falls below the lower threshold', () => {
    const lender = new Lender(SSM).until(10, (s) => [vnf('one', s < 3 ? 0.9 : 0.6), vnf('two', s < 2 ? 0 : 0.9)]);
    expect(lender.log).toEqual([
      [0, 'one'],
      [3, 'one idle'],
      [3, 'two'],
    ]);
  });

  it('keeps on when its slice is over and nobody else qualifies, and gives way as soon as one does', () => {
    const lender = new Lender(SSM).until(40, (s) => [vnf('one', 0.9), vnf('two', s < 30 ? 0.7 : 0.8)]);
    expect(lender.log).toEqual([
      [0, 'one'],
      [30, 'one slice-over'],
      [30, 'two'],
    ]);
  });

  it('keeps it while its accelerated usage lies between the thresholds, and while nothing is measured', () => {
    const between = new Lender(SSM).until(60, (_, has) => [vnf('one', has('one') ? 0.7 : 0.99)]);
    expect(between.log).toEqual([[0, 'one']]);
    const unknown = new Lender(SSM).until(60, (s) => [vnf('one', s < 1 ? 0.99 : null)]);
    expect(unknown.log).toEqual([[0, 'one']]);
  });

  it('that is gone, or whose accelerator fails, loses it, and who waits gets what works', () => {
    const lender = new Lender(SSM, [
      { id: 'a', works: true },
      { id: 'b', works: true },
    ]);
    const both = (id: string) => vnf(id, 0.9, ['a', 'b']);
    lender.tick(0, [both('one'), both('other'), both('third')]);
    lender.tick(500, [both('other'), both('third')]);
    lender.accelerators = [
      { id: 'a', works: true },
      { id: 'b', works: false },
    ];
    lender.tick(1000, [both('other'), both('third')]);
    expect(lender.log.slice(2)).toEqual([
      [0.5, 'one gone'],
      [0.5, 'third'],
      [1, 'other failed'],
    ]);
    expect(lender.state.loans.map(({ accelerator, vnf: id }) => `${accelerator} ${id}`)).toEqual(['a third']);
  });

  it('that is being granted or released is left alone', () => {
    const state = granted(NO_LOANS, 'a', 'one', false);
    expect(decideLending(state, [vnf('one', 0), vnf('two', 1)], ONE, SSM)).toEqual([]);
    expect(decideLending(state, [vnf('one', 1, ['a', 'b'])], [...ONE, { id: 'b', works: true }], SSM)).toEqual([]);
  });
});

describe('time', () => {
  it('counts as it elapsed: a tick that comes very late is one tick, and a clock that goes back takes nothing', () => {
    const lender = new Lender(SSM);
    const both = [vnf('one', 0.9), vnf('two', 0.9)];
    lender.tick(0, both);
    lender.tick(100_000, both);
    expect(lender.log.at(-1)).toEqual([100, 'two']);
    lender.tick(99_000, both);
    expect(lender.state.accounts).toMatchObject({
      one: { time_ms: 100_000, held_ms: 100_000 },
      two: { held_ms: 0, waited_ms: 100_000 },
    });
    lender.tick(110_000, both);
    expect(lender.log.at(-1)).toEqual([110, 'one']);
  });

  it('of a VNF that comes late begins at the least of the others, also when it comes again', () => {
    const lender = new Lender(SSM);
    const load = (...ids: string[]) => ids.map((id) => vnf(id, 0.9));
    lender.until(220, () => load('one', 'two'));
    lender.until(440, () => load('one', 'two', 'late'));
    const late = lender.grants.filter(([s, id]) => s > 220 && id === 'late');
    expect(late.length).toBeGreaterThanOrEqual(6);
    expect(late.length).toBeLessThanOrEqual(7);
    lender.until(660, () => load('one', 'two'));
    lender.until(726, () => load('one', 'two', 'late'));
    expect(lender.grants.filter(([s, id]) => s > 660 && id === 'late')).toHaveLength(2);
  });

  it('is kept of VNFs that are gone, up to a bound', () => {
    const lender = new Lender(SSM);
    for (let n = 0; n < 400; n++) lender.tick(n * 500, [vnf(`vnf${n}`, 0.9)]);
    // 256 of those gone, the one that just gave it back, and the holder.
    expect(Object.keys(lender.state.accounts)).toHaveLength(258);
  });
});

describe('settings that change', () => {
  it('apply from the next tick on', () => {
    const lender = new Lender(SSM).until(4, () => [vnf('one', 0.9), vnf('two', 0.9)]);
    lender.settings = { ...SSM, slice_ms: 3000 };
    lender.until(9, () => [vnf('one', 0.9), vnf('two', 0.9)]);
    expect(lender.grants).toEqual([
      [0, 'one'],
      [4.5, 'two'],
      [7.5, 'one'],
    ]);
    lender.settings = { ...SSM, th_up: 0.98, th_low: 0.95 };
    lender.until(12, () => [vnf('one', 0.9), vnf('two', 0.9)]);
    expect(lender.log.slice(5)).toEqual([[9.5, 'one idle']]);
  });
});

describe('the strawmen', () => {
  const loads = (s: number) => [vnf('idle', 0.1), vnf('one', s < 15 ? 0.9 : 0.1), vnf('two', 0.9)];

  it('static: the first that is overloaded keeps it', () => {
    const lender = new Lender({ ...SSM, strategy: 'static' }).until(60, loads);
    expect(lender.log).toEqual([[0, 'one']]);
  });

  it('round-robin: each has its turn, also those without load', () => {
    const lender = new Lender({ ...SSM, strategy: 'round-robin' }).until(50, loads);
    expect(lender.grants.map(([, id]) => id)).toEqual(['idle', 'one', 'two', 'idle', 'one']);
  });
});

describe('several accelerators', () => {
  it('go to as many as possible, though the first could do with the only one that another can use', () => {
    const accelerators = ['a', 'b'].map((id) => ({ id, works: true }));
    const vnfs = [vnf('first', 0.9, ['a', 'b']), vnf('second', 0.9, ['a'])];
    const handovers = decideLending(NO_LOANS, vnfs, accelerators, SSM);
    expect(Object.fromEntries(handovers.map(({ accelerator, to }) => [accelerator, to]))).toEqual({
      a: 'second',
      b: 'first',
    });
  });

  it('of which one is free are not taken from a holder', () => {
    const lender = new Lender(SSM, [{ id: 'a', works: true }]);
    lender.until(12, () => [vnf('one', 0.9)]);
    lender.accelerators = ['a', 'b'].map((id) => ({ id, works: true }));
    lender.until(13, () => [vnf('one', 0.9, ['a', 'b']), vnf('two', 0.9, ['a', 'b'])]);
    expect(lender.log).toEqual([
      [0, 'one'],
      [12.5, 'two'],
    ]);
  });
});

it('figures: Jain’s index and the overhead of switching', () => {
  expect(jainIndex([2, 2, 2])).toBe(1);
  expect(jainIndex([5, 0, 0, 0])).toBe(0.25);
  expect(jainIndex([0, 0])).toBeNull();
  expect(jainIndex([])).toBeNull();
  expect(jainIndex([1e308, 1e308])).toBe(1);
  expect(jainIndex([1e-300, 0])).toBe(0.5);
  expect(switchOverhead(100, 9900)).toBeCloseTo(0.01);
  expect(switchOverhead(0, 0)).toBe(0);
});
