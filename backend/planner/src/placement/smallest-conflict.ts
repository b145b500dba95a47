import { type Budget, improving, inTime } from '../budget.js';
import { seededRandom } from '../random.js';
import { lastResort } from './last-resort.js';
import type { Packing } from './packing.js';
import type { Constraint, PlacementProblem } from './problem.js';
import { shortages } from './shortages.js';
import { packingsOf } from './strategies.js';

/** Limits that can be lifted one by one. */
const LIMITS: Readonly<Record<string, (problem: PlacementProblem) => PlacementProblem>> = {
  cpu: (problem) => ({ ...problem, items: problem.items.map((item) => ({ ...item, cycles_per_second: 0 })) }),
  memory: (problem) => ({ ...problem, items: problem.items.map((item) => ({ ...item, memory_bytes: 0 })) }),
  link: (problem) => ({
    ...problem,
    bins: problem.bins.map((bin) => ({ ...bin, link_bps: Number.POSITIVE_INFINITY })),
  }),
  table: (problem) => ({ ...problem, table: { ...problem.table, available: Number.POSITIVE_INFINITY } }),
  hosts: (problem) => ({ ...problem, items: problem.items.map(({ hosts: _, ...item }) => item) }),
};

/** Those that this problem has. */
function limitsOf({ items }: PlacementProblem): string[] {
  const restricted = items.some(({ hosts }) => hosts);
  return Object.keys(LIMITS).filter((name) => name !== 'hosts' || restricted);
}

/**
 * The fewest limits under which alone no placement is found any more, with what each lacks where the item that found no
 * place comes nearest: lifting any of the others does not help. All limits where the time ends the search for fewer.
 * Precondition: under all limits no placement was found.
 */
export function smallestConflict(problem: PlacementProblem, all: Packing, budget: Budget): Constraint[] {
  return inTime(() => fewestLimits(problem, budget)) ?? obstaclesOf(all);
}

/** `null`: lifting any limit helps. Errors: `OutOfTime`. */
function fewestLimits(problem: PlacementProblem, budget: Budget): Constraint[] | null {
  const limits = limitsOf(problem);
  for (const kept of subsetsBySize(limits)) {
    const lifted = limits.filter((name) => !kept.includes(name));
    const eased = lifted.reduce((it, name) => LIMITS[name]!(it), problem);
    const short = shortages(eased);
    if (short.length > 0) return short;
    const [first] = packingsOf(eased, [], 'e2', seededRandom(1), improving(budget));
    if (first!.stuck !== null && !lastResort(eased, [], budget).state) return obstaclesOf(first!);
  }
  return null;
}

/** What keeps the item that found no place off each server, each kind of limit once a server. */
function obstaclesOf({ state, stuck }: Packing): Constraint[] {
  return state.problem.bins.flatMap((_, bin) => state.obstacle(stuck!, bin) ?? []);
}

function subsetsBySize(names: readonly string[]): string[][] {
  const subsets = Array.from({ length: 2 ** names.length - 1 }, (_, code) =>
    names.filter((_name, i) => (code + 1) & (1 << i)),
  );
  return subsets.sort((a, b) => a.length - b.length);
}
