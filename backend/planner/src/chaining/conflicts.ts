import { type Budget, Spending } from '../budget.js';
import { bestByLabels } from './labels.js';
import { lacking, overbookedBy, type PreparedNetwork } from './network.js';
import type { ChainRequest, Shortage } from './problem.js';

/** Of the budget, for each search for a smaller set; sets above a size are only made minimal, not minimum. */
const SHARE_A_SEARCH = 1 / 20;
const MAX_ENUMERATED = 3;

export interface ChainConflict {
  readonly shortages: readonly Shortage[];
  /** What rules every path out, in the order of `shortages`. */
  readonly parts: readonly ConflictPart[];
  /** None can be left out: no search for less was cut off. */
  readonly minimal: boolean;
  /** No smaller set of constraints rules every path out. */
  readonly minimum: boolean;
}

/** Something without which no path exists whatever is lifted, the latency bound, or the needs of a stage by its index. */
export type ConflictPart = 'function' | 'connection' | Part;
type Part = 'latency' | number;

/**
 * The smallest set of constraints (latency bound, needs of single stages) under which no path is left, as far as the
 * budget goes; a step is one label or comparison of labels.
 */
export function conflictOf(network: PreparedNetwork, request: ChainRequest, budget: Budget): ChainConflict {
  const spending = new Spending(budget);
  const missing = request.functions.find((f) => network.byFunction[f]!.length === 0);
  if (missing !== undefined) {
    const where = network.source.functions[missing]!;
    const shortage: Shortage = { constraint: 'function', needed: 1, available: 0, unit: 'instances', where };
    return { shortages: [shortage], parts: ['function'], minimal: true, minimum: true };
  }
  const { found, complete } = search(network, request, [], Number.POSITIVE_INFINITY, spending);
  if (complete && found === null) {
    const where = `${nodeId(network, request.ingress)} to ${nodeId(network, request.egress)}`;
    return {
      shortages: [{ constraint: 'connection', needed: 1, available: 0, unit: 'paths', where }],
      parts: ['connection'],
      minimal: true,
      minimum: true,
    };
  }
  const parts: Part[] = ['latency', ...request.functions.keys()];
  const { set, minimal, minimum } = smallestConflict(network, request, parts, spending);
  const shortages = set.map((part) => shortageOf(network, request, part, set, spending));
  return { shortages, parts: set, minimal, minimum };
}

function nodeId({ source }: PreparedNetwork, node: number): string {
  return source.nodes[node]!.id;
}

function smallestConflict(network: PreparedNetwork, request: ChainRequest, parts: readonly Part[], spending: Spending) {
  let sure = true;
  const relaxations = request.functions.reduce((sum, f) => sum + network.byFunction[f]!.length ** 2, 0);
  const conflicts = (set: readonly Part[]): boolean => {
    const bound = set.includes('latency') ? request.latency_us : Number.POSITIVE_INFINITY;
    const within = spending.spend(relaxations);
    const result = within ? search(network, request, set, bound, spending) : null;
    if (!result?.complete) sure = false;
    return result?.complete === true && result.found === null;
  };
  for (let size = 1; size <= Math.min(MAX_ENUMERATED, parts.length); size++) {
    const set = firstOfSize(parts, size, 0, [], conflicts);
    if (set) return { set, minimal: sure, minimum: sure };
  }
  let set = [...parts];
  for (const part of parts) {
    const without = set.filter((it) => it !== part);
    if (conflicts(without)) set = without;
  }
  return { set, minimal: sure, minimum: sure && set.length === MAX_ENUMERATED + 1 };
}

function firstOfSize(
  parts: readonly Part[],
  size: number,
  from: number,
  set: readonly Part[],
  conflicts: (set: readonly Part[]) => boolean,
): Part[] | null {
  if (set.length === size) return conflicts(set) ? [...set] : null;
  for (let i = from; i < parts.length; i++) {
    const found = firstOfSize(parts, size, i + 1, [...set, parts[i]!], conflicts);
    if (found) return found;
  }
  return null;
}

function search(
  network: PreparedNetwork,
  request: ChainRequest,
  kept: readonly Part[],
  latency_us: number,
  spending: Spending,
): ReturnType<typeof bestByLabels> {
  if (spending.isOver) return { found: null, complete: false };
  const lifted = Uint8Array.from(request.functions, (_, k) => (kept.includes(k) ? 0 : 1));
  const part = spending.part(SHARE_A_SEARCH);
  return bestByLabels(network, request, { withOptions: true, latency_us, lifted, spending: part });
}

/** The least latency of any path that gives these stages what they need, whatever the deployments cost; `null`: no path. */
function leastLatency(
  network: PreparedNetwork,
  request: ChainRequest,
  kept: readonly Part[],
  spending: Spending,
): number | null {
  const free = { ...network, cost: new Float64Array(network.candidates) };
  return search(free, request, kept, Number.POSITIVE_INFINITY, spending).found?.latency_us ?? null;
}

function shortageOf(
  network: PreparedNetwork,
  request: ChainRequest,
  part: Part,
  set: readonly Part[],
  spending: Spending,
): Shortage {
  if (part !== 'latency') return stageShortage(network, request, part, set, spending);
  const where = `${nodeId(network, request.ingress)} to ${nodeId(network, request.egress)}`;
  // With this bound a path qualifies; where none does with any, it is what the rest of the set leaves.
  const others = set.filter((it) => it !== 'latency');
  const least = (kept: readonly Part[]) => leastLatency(network, request, kept, spending);
  const needed = least([...request.functions.keys()]) ?? least(others) ?? request.latency_us;
  return { constraint: 'latency', needed, available: request.latency_us, unit: 'us', where };
}

/**
 * What the stage lacks at the candidate that comes nearest to enough; when each would do alone, what is overbooked on the
 * path that the rest of the set leaves once the need of the stage comes on top.
 */
function stageShortage(
  network: PreparedNetwork,
  request: ChainRequest,
  stage: number,
  set: readonly Part[],
  spending: Spending,
): Shortage {
  const here = [...network.byFunction[request.functions[stage]!]!];
  const lacks = here.flatMap((c) => lacking(network, c, request.throughput_bps) ?? []);
  const part = ({ available, needed }: Shortage) => available / needed;
  const nearest = lacks.sort((a, b) => part(b) - part(a))[0];
  if (nearest && (set.length === 1 || lacks.length === here.length)) return nearest;
  const others = set.filter((it) => it !== stage);
  const bound = set.includes('latency') ? request.latency_us : Number.POSITIVE_INFINITY;
  const { found } = search(network, request, others, bound, spending);
  const stages = set.filter((it): it is number => it !== 'latency');
  const met = found && overbookedBy(network, found.path, request.throughput_bps, new Set(stages));
  return met ?? nearest ?? { constraint: 'function', needed: 1, available: 0, unit: 'instances', where: nameOf() };

  function nameOf(): string {
    return network.source.functions[request.functions[stage]!]!;
  }
}
