import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { arbitraryProblem } from '../testing/placements.js';
import { place } from './place.js';
import type { PlacementProblem } from './problem.js';
import { MOST_LOOKS, placementReasons } from './reasons.js';
import { PlacementState } from './state.js';

afterEach(() => vi.restoreAllMocks());

const NEW = () => 'new' as const;

function placed(problem: PlacementProblem): PlacementState | null {
  const pinned = problem.items.map(() => null);
  const { feasible, places } = place(problem, { strategy: 'packing', seed: 1, budget: { steps: 0 }, pinned });
  return feasible ? PlacementState.of(problem, pinned, places) : null;
}

/** As many items as are asked for, four to a server. */
function large(items: number, servers: number): PlacementProblem {
  const item = { cycles_per_second: 1e8, memory_bytes: 0, outside_in_bps: 0, outside_out_bps: 0 };
  const bin = { cores: 64, hz: 2e9, memory_bytes: 1, link_bps: 1e12, link_constraint: 'nic-bandwidth' as const };
  return {
    items: Array.from({ length: items }, (_, i) => ({ ...item, id: `i${i}` })),
    bins: Array.from({ length: servers }, (_, i) => ({ ...bin, id: `b${i}` })),
    flows: Array.from({ length: items - 1 }, (_, i) => ({ from: i, to: i + 1, rate_bps: 1e6 })),
    table: { fixed: 0, available: 1e6, where: 'switch-1' },
  };
}

describe('packing', () => {
  it('of many parts takes back only what a try placed, not the whole placement', () => {
    const problem = {
      ...large(600, 20),
      flows: Array.from({ length: 300 }, (_, i) => ({ from: 2 * i, to: 2 * i + 1, rate_bps: 1e6 })),
    };
    const copies = vi.spyOn(PlacementState.prototype, 'snapshot');
    const taken = vi.spyOn(PlacementState.prototype, 'restore');
    expect(placed(problem)).not.toBeNull();
    expect(copies.mock.calls.length + taken.mock.calls.length).toBeLessThan(10);
  });
});

describe('reasons of a placement', () => {
  it('look at a bounded number of servers, however large the plan, and name each decision', () => {
    const problem = large(2000, 100);
    const state = placed(problem)!;
    const obstacles = vi.spyOn(PlacementState.prototype, 'obstacle');
    const removed = vi.spyOn(PlacementState.prototype, 'remove');
    const reasons = placementReasons(state, 'e2', NEW, {});
    expect(obstacles.mock.calls.length).toBeLessThanOrEqual(MOST_LOOKS);
    expect(removed.mock.calls.length).toBe(MOST_LOOKS / 100);
    expect(reasons.map(({ subject }) => subject)).toEqual(problem.items.map(({ id }) => id));
    expect(reasons.every(({ decision }) => /^b\d+, core \d+$/.test(decision))).toBe(true);
    expect(reasons.filter(({ candidates }) => candidates.length > 0)).toHaveLength(MOST_LOOKS / 100);
    expect(reasons.at(-1)!.because).toContain('The plan is large');
  });

  it('cost one item taken off and put back each, not a copy of the placement', () => {
    const state = placed(large(300, 4))!;
    const mark = state.mark();
    const copies = vi.spyOn(PlacementState.prototype, 'snapshot');
    const removed = vi.spyOn(PlacementState.prototype, 'remove');
    placementReasons(state, 'e2', NEW, {});
    expect(copies).not.toHaveBeenCalled();
    expect(removed).toHaveBeenCalledTimes(300);
    expect(state.mark()).toBe(mark);
  });

  it('end with the time of the plan', () => {
    const reasons = placementReasons(placed(large(300, 8))!, 'e2', NEW, { expired: () => true });
    const explained = reasons.filter(({ candidates }) => candidates.length > 0).length;
    expect(explained).toBeGreaterThan(0);
    expect(explained).toBeLessThan(300);
  });

  it('leave the placement as it is', () => {
    let feasible = 0;
    fc.assert(
      fc.property(arbitraryProblem(8, 4), (problem) => {
        const state = placed(problem);
        if (!state) return;
        feasible++;
        const before = state.snapshot();
        placementReasons(state, 'e2', NEW, {});
        expect(state.snapshot()).toEqual(before);
      }),
      { numRuns: 200, seed: 5 },
    );
    expect(feasible).toBeGreaterThan(30);
  });
});
