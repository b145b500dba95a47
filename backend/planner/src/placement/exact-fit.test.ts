import { describe, expect, it } from 'vitest';
import { Clock } from '../testing/clock.js';
import { fitExactly } from './exact-fit.js';
import type { PlacementProblem } from './problem.js';

/** Items without traffic, of which each first way fits: the search looks at every core once for each item. */
const ITEMS = 12;
const problem = (cores: number, memory_bytes = ITEMS): PlacementProblem => ({
  items: Array.from({ length: ITEMS }, (_, i) => ({
    id: `i${i}`,
    cycles_per_second: 1e6,
    memory_bytes: 1,
    outside_in_bps: 0,
    outside_out_bps: 0,
  })),
  flows: [],
  bins: [{ id: 'b', cores, hz: 1e9, memory_bytes, link_bps: 1e9, link_constraint: 'nic-bandwidth' }],
  table: { fixed: 0, available: 100, where: 'switch-1' },
});
const free = Array.from({ length: ITEMS }, () => null);

describe('the search for any placement', () => {
  it('asks its clock the more often the more cores it looks at', () => {
    const cores = 8192;
    const clock = new Clock();
    const { places, complete } = fitExactly(problem(cores), free, clock);
    expect(places).toHaveLength(ITEMS);
    expect(complete).toBe(true);
    expect(clock.asked).toBeGreaterThan(ITEMS - 1);
    expect(clock.asked).toBeLessThanOrEqual((ITEMS * (cores + 1)) / 1024);
  });

  it('ends with its time, even within the cores of one server', () => {
    expect(fitExactly(problem(8192), free, new Clock(1))).toEqual({ places: null, complete: false });
  });

  it('ends with its steps, which many cores use up sooner than few', () => {
    expect(fitExactly(problem(1_000), free, {})).toMatchObject({ complete: true });
    expect(fitExactly(problem(100_000), free, {})).toEqual({ places: null, complete: false });
  });

  it('looks at no cores of a server without room, and proves that nothing fits', () => {
    const clock = new Clock();
    expect(fitExactly(problem(1_000_000, 0), free, clock)).toEqual({ places: null, complete: true });
    expect(clock.asked).toBe(0);
  });
});
