import { BadProblem, requireAtLeast, requireAtMost } from '../../bad-problem.js';
import { MAX_CHAIN_NFS, type Pair } from '../dependency/dependencies.js';

/** A linear chain to be turned into a service processing graph (HydraNF 6.4.1). */
export interface SpgProblem {
  readonly nfs: readonly { readonly id: string; readonly latency_us: number }[];
  /** One for each two NFs that depend on each other or keep their order; two that are not named are independent. */
  readonly pairs: readonly Pick<Pair, 'earlier' | 'later' | 'parallel' | 'order'>[];
  /** Added to a packet's latency where it is copied, and where copies are merged. */
  readonly mirror_us: number;
  readonly merge_us: number;
}

/** NFs as bits of a mask. Precondition of all masks: NFs of the chain only. */
export interface Relation {
  readonly n: number;
  /** Where `1 << y` is set in `dependent[x]`, x and y cannot be parallel; in either direction. */
  readonly dependent: Int32Array;
  /** Where `1 << y` is set in `blocked[x]`, x must not run before y. */
  readonly blocked: Int32Array;
  readonly latency_us: Float64Array;
}

/** Errors: `BadProblem`. */
export function relationOf(problem: SpgProblem): Relation {
  const n = problem.nfs.length;
  requireAtMost('/nfs', n, MAX_CHAIN_NFS);
  requireAtLeast('/mirror_us', problem.mirror_us, 0);
  requireAtLeast('/merge_us', problem.merge_us, 0);
  problem.nfs.forEach(({ latency_us }, i) => {
    requireAtLeast(`/nfs/${i}/latency_us`, latency_us, 0);
  });
  const dependent = new Int32Array(n);
  const blocked = new Int32Array(n);
  problem.pairs.forEach(({ earlier, later, parallel, order }, p) => {
    if (!(Number.isInteger(earlier) && Number.isInteger(later) && earlier >= 0 && earlier < later && later < n))
      throw new BadProblem(`/pairs/${p}`, 'must name an earlier and a later NF of the chain');
    if (!parallel) {
      dependent[earlier]! |= 1 << later;
      dependent[later]! |= 1 << earlier;
    }
    if (!parallel || order.length > 0) blocked[later]! |= 1 << earlier;
  });
  return { n, dependent, blocked, latency_us: Float64Array.from(problem.nfs, ({ latency_us }) => latency_us) };
}

/** The NFs of a mask, in the order of the chain. */
export function membersOf(mask: number): number[] {
  const members: number[] = [];
  for (let rest = mask; rest !== 0; rest &= rest - 1) members.push(31 - Math.clz32(rest & -rest));
  return members;
}

export function weightOf({ latency_us }: Relation, mask: number): number {
  let sum = 0;
  for (let rest = mask; rest !== 0; rest &= rest - 1) sum += latency_us[31 - Math.clz32(rest & -rest)]!;
  return sum;
}

/** All NFs that must come after each NF, directly or through others. */
export function closureOf({ n, dependent }: Relation): Int32Array {
  const after = new Int32Array(n);
  for (let x = n - 1; x >= 0; x--) {
    for (const y of membersOf(dependent[x]!)) if (y > x) after[x]! |= (1 << y) | after[y]!;
  }
  return after;
}

/** The longest dependent path within a mask: no arrangement of these NFs is faster (HydraNF 6.4.1, Proposition 1). */
export function criticalPath({ n, dependent, latency_us }: Relation, mask = 2 ** n - 1): CriticalPath {
  const finish = new Float64Array(n);
  const previous = new Int32Array(n).fill(-1);
  let last = -1;
  for (const y of membersOf(mask)) {
    let start = 0;
    for (const x of membersOf(dependent[y]! & mask & ((1 << y) - 1))) {
      if (finish[x]! > start || previous[y] === -1) {
        start = Math.max(start, finish[x]!);
        previous[y] = x;
      }
    }
    finish[y] = start + latency_us[y]!;
    if (last === -1 || finish[y]! > finish[last]!) last = y;
  }
  const nfs: number[] = [];
  for (let at = last; at !== -1; at = previous[at]!) nfs.unshift(at);
  return { nfs, latency_us: last === -1 ? 0 : finish[last]! };
}

interface CriticalPath {
  readonly nfs: readonly number[];
  readonly latency_us: number;
}
