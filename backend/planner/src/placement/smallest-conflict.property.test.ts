import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { arbitraryProblem, withHosts } from '../testing/placements.js';
import { place } from './place.js';
import type { Constraint, PlacementProblem } from './problem.js';

/** What lifts a limit of each kind of constraint. */
const LIFTED: Partial<Record<Constraint['constraint'], (problem: PlacementProblem) => PlacementProblem>> = {
  cpu: (problem) => ({ ...problem, items: problem.items.map((item) => ({ ...item, cycles_per_second: 0 })) }),
  memory: (problem) => ({ ...problem, items: problem.items.map((item) => ({ ...item, memory_bytes: 0 })) }),
  'nic-bandwidth': (problem) => ({ ...problem, bins: problem.bins.map((bin) => ({ ...bin, link_bps: 1e15 })) }),
  'switch-table': (problem) => ({ ...problem, table: { ...problem.table, available: 1e9 } }),
  implementation: (problem) => ({ ...problem, items: problem.items.map(({ hosts: _, ...item }) => item) }),
};

const placed = (problem: PlacementProblem) =>
  place(problem, { strategy: 'e2', seed: 1, budget: { steps: 20 }, pinned: problem.items.map(() => null) });

/** The problem under limits of these kinds alone. */
const under = (problem: PlacementProblem, kinds: readonly string[]) =>
  Object.entries(LIFTED).reduce((it, [kind, lift]) => (kinds.includes(kind) ? it : lift(it)), problem);

describe('what prevents a placement', () => {
  it('is named, all of it, without anything that could be met in vain', () => {
    const seen = { alone: 0, several: 0, implementation: 0, besideHosts: 0 };
    fc.assert(
      fc.property(arbitraryProblem(6, 3).chain(withHosts), (problem) => {
        const found = placed(problem);
        if (found.feasible || found.stuck === null) return;
        const kinds: string[] = [...new Set(found.conflicts.map(({ constraint }) => constraint))];
        for (const kind of kinds) {
          const others = kinds.filter((it) => it !== kind);
          expect([kind, others, placed(under(problem, others)).feasible]).toEqual([kind, others, true]);
        }
        expect([kinds, placed(under(problem, kinds)).feasible]).toEqual([kinds, false]);
        seen[kinds.length === 1 ? 'alone' : 'several']++;
        if (kinds.includes('implementation')) seen.implementation++;
        else if (problem.items.some(({ hosts }) => hosts)) seen.besideHosts++;
      }),
      { numRuns: 600, seed: 67 },
    );
    expect(Math.min(...Object.values(seen))).toBeGreaterThan(5);
  });
});
