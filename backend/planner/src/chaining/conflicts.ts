import { bestByLabels } from './labels.js';
import { capacityNeed, idOf, lacking, type PreparedNetwork } from './network.js';
import type { ChainRequest, Shortage } from './problem.js';

/** Labels of each search for a smaller set, and work of all; sets above a size are only made minimal, not minimum. */
const CONFLICT_STEPS = 50_000;
const ALL_STEPS = 1_000_000;
const MAX_ENUMERATED = 3;

export interface ChainConflict {
  readonly shortages: readonly Shortage[];
  /** No smaller set of constraints rules every path out. */
  readonly minimum: boolean;
}

/** The latency bound, or what one stage needs of its instance and node, by its index. */
type Part = 'latency' | number;

/** The smallest set of constraints (latency bound, needs of single stages) under which no path is left. */
export function conflictOf(network: PreparedNetwork, request: ChainRequest): ChainConflict {
  const missing = request.functions.find((f) => network.byFunction[f]!.length === 0);
  if (missing !== undefined) {
    const where = network.source.functions[missing]!;
    const shortage: Shortage = { constraint: 'function', needed: 1, available: 0, unit: 'instances', where };
    return { shortages: [shortage], minimum: true };
  }
  if (leastLatency(network, request, []) === null) {
    const where = `${nodeId(network, request.ingress)} to ${nodeId(network, request.egress)}`;
    return {
      shortages: [{ constraint: 'connection', needed: 1, available: 0, unit: 'paths', where }],
      minimum: true,
    };
  }
  const parts: Part[] = ['latency', ...request.functions.keys()];
  const { set, minimum } = smallestConflict(network, request, parts);
  return { shortages: set.map((part) => shortageOf(network, request, part, set)), minimum };
}

function nodeId({ source }: PreparedNetwork, node: number): string {
  return source.nodes[node]!.id;
}

function smallestConflict(network: PreparedNetwork, request: ChainRequest, parts: readonly Part[]) {
  let sure = true;
  let left = ALL_STEPS;
  const relaxations = request.functions.reduce((sum, f) => sum + network.byFunction[f]!.length ** 2, 0);
  const rulesOut = (set: readonly Part[]): boolean => {
    const bound = set.includes('latency') ? request.latency_us : Number.POSITIVE_INFINITY;
    const { found, complete, steps } = search(network, request, set, bound);
    left -= steps + relaxations;
    if (!complete) sure = false;
    return complete && found === null;
  };
  const conflicts = (set: readonly Part[]): boolean => {
    if (left > 0) return rulesOut(set);
    sure = false;
    return false;
  };
  for (let size = 1; size <= Math.min(MAX_ENUMERATED, parts.length); size++) {
    const set = firstOfSize(parts, size, 0, [], conflicts);
    if (set) return { set, minimum: sure };
  }
  let set = [...parts];
  for (const part of parts) {
    const without = set.filter((it) => it !== part);
    if (rulesOut(without)) set = without;
  }
  return { set, minimum: sure && set.length === MAX_ENUMERATED + 1 };
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

function search(network: PreparedNetwork, request: ChainRequest, kept: readonly Part[], latency_us: number) {
  const lifted = Uint8Array.from(request.functions, (_, k) => (kept.includes(k) ? 0 : 1));
  return bestByLabels(network, request, { withOptions: true, latency_us, lifted, steps: CONFLICT_STEPS });
}

/** The least latency when only some stages need anything, whatever the deployments cost; `null`: no path. */
function leastLatency(network: PreparedNetwork, request: ChainRequest, kept: readonly Part[]): number | null {
  const free = { ...network, cost: new Float64Array(network.candidates) };
  return search(free, request, kept, Number.POSITIVE_INFINITY).found?.latency_us ?? null;
}

function shortageOf(network: PreparedNetwork, request: ChainRequest, part: Part, set: readonly Part[]): Shortage {
  if (part !== 'latency') return stageShortage(network, request, part, set);
  const others = set.filter((it) => it !== 'latency');
  const where = `${nodeId(network, request.ingress)} to ${nodeId(network, request.egress)}`;
  const needed = leastLatency(network, request, others) ?? request.latency_us;
  return { constraint: 'latency', needed, available: request.latency_us, unit: 'us', where };
}

/**
 * What the stage lacks at the candidate that comes nearest to enough; when each would do alone, what the stages of the
 * set need together where they can meet.
 */
function stageShortage(network: PreparedNetwork, request: ChainRequest, stage: number, set: readonly Part[]): Shortage {
  const here = [...network.byFunction[request.functions[stage]!]!];
  const lacks = here.flatMap((c) => lacking(network, c, request.throughput_bps) ?? []);
  const part = ({ available, needed }: Shortage) => available / needed;
  const nearest = lacks.sort((a, b) => part(b) - part(a))[0];
  if (nearest && (set.length === 1 || lacks.length === here.length)) return nearest;
  const together = here.map((c) => meeting(network, request, c, set)).sort((a, b) => part(a) - part(b));
  return together[0]!;
}

/** What the stages of a set need at most on the node, or in the instance, of a candidate. */
function meeting(network: PreparedNetwork, request: ChainRequest, candidate: number, set: readonly Part[]): Shortage {
  const { node, nodeFree, byFunction, source, free_bps } = network;
  const rate = request.throughput_bps;
  const stages = set.filter((it): it is number => it !== 'latency');
  const v = node[candidate]!;
  let needed = 0;
  let passes = 0;
  for (const k of stages) {
    const there = [...byFunction[request.functions[k]!]!].filter((c) => node[c] === v);
    if (there.length > 0) needed += Math.max(...there.map((c) => capacityNeed(network, c, rate)));
    if (there.includes(candidate)) passes++;
  }
  const capacity: Shortage = {
    constraint: 'capacity',
    needed,
    available: nodeFree[v]!,
    unit: source.nodes[v]!.capacity_unit,
    where: source.nodes[v]!.id,
  };
  const throughput: Shortage = {
    constraint: 'throughput',
    needed: passes * rate,
    available: free_bps[candidate]!,
    unit: 'bps',
    where: idOf(network, candidate),
  };
  const nearer = throughput.available * needed < capacity.available * throughput.needed;
  return nearer ? throughput : capacity;
}
