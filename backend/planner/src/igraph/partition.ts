import { DIRECT_ATTRIBUTES, type DirectAttribute, type FlowKey, type FlowRange } from '@orrery/contract';
import { portion, WHOLE_RANGE } from './flow-range.js';

/**
 * How the traffic of a node is spread over its instances. `hash`: by the engines' flow hash over `key`, each instance has
 * a range. `switch`: by the switch's own hash over `key`, which engines cannot compute; `steady` when packets equal
 * in `key` always meet the same instance. `follow`: instance i gets what instance i of `origin` let through, without
 * classifying again (E2 figure 3.3 d).
 */
export type Partition =
  | { readonly kind: 'single' }
  | { readonly kind: 'hash'; readonly key: FlowKey }
  | { readonly kind: 'switch'; readonly key: FlowKey; readonly steady: boolean }
  | { readonly kind: 'follow'; readonly key: FlowKey; readonly origin: string };

/** A node with its instances counted and its traffic shared out. */
export interface CountedNode {
  readonly id: string;
  readonly count: number;
  /** Of each instance; of one that follows another, the range that the other has. */
  readonly ranges: readonly FlowRange[];
  /** Its ranges were changed by hand: it may still have flows outside the ranges of their instances (E2 3.4.4). */
  readonly hasStrays: boolean;
  /** The number of its instances changes while it runs: each way to it tracks flows, also one to a single instance. */
  readonly scales: boolean;
  readonly partition: Partition;
  /** Fields in which packets that must meet the same instance are equal; empty: any packets may meet any instance. */
  readonly affinity: readonly string[];
  /** Fields that it changes. */
  readonly written: readonly string[];
}

/** What flows are hashed over when nothing else is known: the affinity, or the 5-tuple so that flows stay in order. */
export function fullKey(affinity: readonly string[]): DirectAttribute[] {
  return affinity.length > 0 ? DIRECT_ATTRIBUTES.filter((field) => affinity.includes(field)) : [...DIRECT_ATTRIBUTES];
}

/** What is known of the flows that leave instance i of a node: its own partition, unless it rewrites the key. */
function leavingPartition({ id, written, partition }: CountedNode): Partition {
  if (partition.kind === 'single') return partition;
  if (partition.key.some((field) => written.includes(field))) return { kind: 'single' };
  if (partition.kind !== 'switch') return partition;
  return partition.steady ? { kind: 'follow', key: partition.key, origin: id } : { kind: 'single' };
}

/** The partition of a node of several instances with the fewest edges to it. `mayFollow`: it needs no ranges of its own. */
export function choosePartition(
  node: Omit<CountedNode, 'partition'>,
  upstream: readonly CountedNode[],
  mayFollow = true,
): Partition {
  const full = fullKey(node.affinity);
  const keeps = (key: FlowKey) => node.affinity.length === 0 || key.every((field) => full.includes(field));
  const leaving = upstream.map((from) => ({ from, partition: leavingPartition(from) }));
  const [first] = leaving;
  if (mayFollow && first?.partition.kind === 'follow' && keeps(first.partition.key)) {
    const { origin } = first.partition;
    const same = leaving.every(
      ({ from, partition }) => partition.kind === 'follow' && partition.origin === origin && from.count === node.count,
    );
    if (same) return first.partition;
  }
  let best: { key: FlowKey; edges: number } | null = null;
  const keys = [full, ...leaving.flatMap(({ partition }) => (partition.kind === 'hash' ? [partition.key] : []))];
  for (const key of keys.filter(keeps)) {
    const to: CountedNode = { ...node, partition: { kind: 'hash', key } };
    const edges = upstream.reduce((sum, from) => sum + pairs(from, to).length, 0);
    if (!best || edges < best.edges) best = { key, edges };
  }
  return { kind: 'hash', key: best!.key };
}

interface Pair {
  readonly from: number;
  readonly to: number;
  readonly key: FlowKey;
  readonly range: FlowRange;
  /** Part of the traffic between the two nodes. */
  readonly share: number;
}

/** The instance pairs between which flows pass, and which flows; no key where an instance has one successor only that does not scale. */
export function pairs(from: CountedNode, to: CountedNode): Pair[] {
  const leaving = leavingPartition(from);
  const { partition } = to;
  const known =
    leaving.kind === 'hash' && partition.kind === 'hash' && sameKey(leaving.key, partition.key) && !from.hasStrays;
  const whole = (i: number, j: number): Pair => ({
    from: i,
    to: j,
    key: [],
    range: WHOLE_RANGE,
    share: portion(from.ranges[i]!),
  });
  return Array.from({ length: from.count }, (_, i) => {
    if (partition.kind === 'single') return [whole(i, 0)];
    if (partition.kind === 'follow') return [whole(i, i)];
    const mine = known ? from.ranges[i]! : WHOLE_RANGE;
    const out: Pair[] = [];
    for (let j = 0; j < to.count; j++) {
      const range = to.ranges[j]!;
      const lo = Math.max(range.lo, mine.lo);
      const hi = Math.min(range.hi, mine.hi);
      const share = ((hi - lo) / (mine.hi - mine.lo)) * portion(from.ranges[i]!);
      if (lo < hi) out.push({ from: i, to: j, key: partition.key, range: { lo, hi }, share });
    }
    return out.length === 1 && !to.scales ? [whole(i, out[0]!.to)] : out;
  }).flat();
}

function sameKey(a: FlowKey, b: FlowKey): boolean {
  return a.length === b.length && a.every((field, i) => field === b[i]);
}
