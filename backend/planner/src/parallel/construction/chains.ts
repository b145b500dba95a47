import { closureOf, criticalPath, membersOf, type Relation, weightOf } from './problem.js';

/** Chains of NFs that depend on one another, to be packed in bins that hold no more than the critical path. */
export interface ChainPacking {
  readonly chains: readonly number[];
  readonly capacity_us: number;
  readonly relation: Relation;
}

/**
 * Chains from NFs that depend on none to NFs on which none depends, the critical path first, so that each direct
 * dependency lies on one: the items of HydraNF's packing. Its figure 6.6 lists chains in that way; all paths would be
 * more, and exponentially many.
 */
function chainsOf(relation: Relation): number[] {
  const { n } = relation;
  const after = closureOf(relation);
  const open = after.map((mask) => membersOf(mask).reduce((rest, y) => rest & ~after[y]!, mask));
  const next = Int32Array.from(open);
  const chains: number[] = [];
  const take = (nfs: readonly number[]): void => {
    chains.push(nfs.reduce((mask, x) => mask | (1 << x), 0));
    nfs.forEach((x, i) => {
      if (i > 0) open[nfs[i - 1]!]! &= ~(1 << x);
    });
  };
  const critical = criticalPath(relation).nfs;
  if (n > 0) take(critical);
  for (let x = 0; x < n; x++) {
    while (open[x] !== 0) take(chainThrough(relation, next, open, x));
    if (chains.every((mask) => (mask & (1 << x)) === 0) && next[x] === 0) take([x]);
  }
  return chains;
}

/** From a first NF over x to a last one, over direct dependencies that lie on no chain yet where there are any. */
function chainThrough({ n }: Relation, next: Int32Array, open: Int32Array, x: number): number[] {
  const nfs = [x];
  for (let at = x; ; ) {
    const before = Array.from({ length: at }, (_, u) => u).filter((u) => next[u]! & (1 << at));
    if (before.length === 0) break;
    at = before.find((u) => open[u]! & (1 << at)) ?? before[0]!;
    nfs.unshift(at);
  }
  for (let at = x; next[at] !== 0; nfs.push(at)) at = membersOf(open[at]! || next[at]!)[0] ?? n;
  return nfs;
}

export function packingOf(relation: Relation): ChainPacking {
  return { chains: chainsOf(relation), capacity_us: criticalPath(relation).latency_us, relation };
}

/** Bins of chains, by index. */
export type Bins = readonly (readonly number[])[];

/** NFs of a bin; one that is in several of its chains counts once. */
export function unionOf({ chains }: ChainPacking, bin: readonly number[]): number {
  return bin.reduce((mask, c) => mask | chains[c]!, 0);
}

/** Sums in another order differ in their last digits. */
const TOLERANCE = 1 + 1e-9;

export function fitsBin({ relation, capacity_us }: ChainPacking, mask: number): boolean {
  return weightOf(relation, mask) <= capacity_us * TOLERANCE;
}

/** No packing has fewer bins: all NFs by their latency, and chains of which no two fit together. */
export function binBound(packing: ChainPacking): number {
  const { chains, capacity_us, relation } = packing;
  if (chains.length === 0) return 0;
  const all = chains.reduce((mask, it) => mask | it, 0);
  const byWeight = capacity_us === 0 ? 1 : Math.ceil(weightOf(relation, all) / (capacity_us * TOLERANCE));
  const apart: number[] = [];
  for (const chain of [...chains].sort((a, b) => weightOf(relation, b) - weightOf(relation, a)))
    if (apart.every((it) => !fitsBin(packing, it | chain))) apart.push(chain);
  return Math.max(1, byWeight, apart.length);
}

/** NFs of one bin run one after another, in the order of the chain: the relation of a packing, ready to be composed. */
export function bound(packing: ChainPacking, bins: Bins): Relation {
  const { relation } = packing;
  const dependent = Int32Array.from(relation.dependent);
  const blocked = Int32Array.from(relation.blocked);
  for (const bin of bins) {
    const mask = unionOf(packing, bin);
    for (const x of membersOf(mask)) {
      dependent[x]! |= mask & ~(1 << x);
      blocked[x]! |= mask & ((1 << x) - 1);
    }
  }
  return { ...relation, dependent, blocked };
}
