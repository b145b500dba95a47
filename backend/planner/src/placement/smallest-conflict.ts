import { type Budget, improving, inTime } from '../budget.js';
import { seededRandom } from '../random.js';
import { lastResort } from './last-resort.js';
import type { Packing } from './packing.js';
import type { Constraint, PlacementProblem } from './problem.js';
import { shortages } from './shortages.js';
import { PlacementState } from './state.js';
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

/** The limit of each constraint that an item lacks room for. */
const LIMIT_OF: Readonly<Partial<Record<Constraint['constraint'], string>>> = {
  cpu: 'cpu',
  memory: 'memory',
  'nic-bandwidth': 'link',
  'link-bandwidth': 'link',
  'switch-table': 'table',
  implementation: 'hosts',
  excluded: 'hosts',
};

/** Those that this problem has. */
function limitsOf({ items }: PlacementProblem): string[] {
  const restricted = items.some(({ hosts }) => hosts);
  return Object.keys(LIMITS).filter((name) => name !== 'hosts' || restricted);
}

/**
 * The fewest limits under which alone no placement is found any more: lifting any of the others does not help. With each what
 * the item that found no place lacks on a server, or what is lacking where the limit alone is lifted. All that the item lacks
 * where the time ends the search for fewer.
 * Precondition: under all limits no placement was found.
 */
export function smallestConflict(problem: PlacementProblem, all: Packing, budget: Budget): Constraint[] {
  return inTime(() => fewestLimits(problem, budget)) ?? obstaclesOf(all);
}

/** `null`: lifting any limit helps. Errors: `OutOfTime`. */
function fewestLimits(problem: PlacementProblem, budget: Budget): Constraint[] | null {
  for (const kept of subsetsBySize(limitsOf(problem))) {
    const eased = onlyUnder(kept, problem);
    const short = shortages(eased);
    if (short.length > 0) return short;
    const { first, complete } = attempt(eased, budget);
    if (complete) continue;
    const found = obstaclesOf(first);
    const unnamed = kept.filter((name) => !found.some(({ constraint }) => LIMIT_OF[constraint] === name));
    return [...found, ...unnamed.flatMap((name) => overbookedWithout(name, kept, problem, budget))];
  }
  return null;
}

/** The problem without all other limits. */
function onlyUnder(kept: readonly string[], problem: PlacementProblem): PlacementProblem {
  const lifted = Object.keys(LIMITS).filter((name) => !kept.includes(name));
  return lifted.reduce((it, name) => LIMITS[name]!(it), problem);
}

/** The first packing, and a complete placement; null: none was found. Errors: `OutOfTime`. */
function attempt(problem: PlacementProblem, budget: Budget): { first: Packing; complete: PlacementState | null } {
  const first = packingsOf(problem, [], 'e2', seededRandom(1), improving(budget))[0]!;
  return { first, complete: first.stuck === null ? first.state : lastResort(problem, [], budget).state };
}

/** What one limit lacks in a placement that the other `kept` ones allow. Errors: `OutOfTime`. */
function overbookedWithout(
  limit: string,
  kept: readonly string[],
  problem: PlacementProblem,
  budget: Budget,
): Constraint[] {
  const others = kept.filter((name) => name !== limit);
  const { complete } = attempt(onlyUnder(others, problem), budget);
  const unbound = problem.items.map(() => null);
  const state = PlacementState.of(onlyUnder([limit], problem), unbound, unbound);
  for (const item of problem.items.keys()) {
    const bin = complete?.placeOf(item)?.bin;
    if (bin === undefined || state.tryAdd(item, bin)) continue;
    const obstacle = state.obstacle(item, bin);
    return obstacle ? [obstacle] : [];
  }
  return [];
}

/** What keeps the item that found no place off each server, each limit of a server once. */
function obstaclesOf({ state, stuck }: Packing): Constraint[] {
  const all = state.problem.bins.flatMap((_, bin) => state.obstacle(stuck!, bin) ?? []);
  return [...new Map(all.map((each) => [`${each.constraint} ${each.where}`, each])).values()];
}

function subsetsBySize(names: readonly string[]): string[][] {
  const subsets = Array.from({ length: 2 ** names.length - 1 }, (_, code) =>
    names.filter((_name, i) => (code + 1) & (1 << i)),
  );
  return subsets.sort((a, b) => a.length - b.length);
}
