import { exactSpg, MAX_EXACT_NFS } from './exact.js';
import { closureOf, criticalPath, membersOf, type Relation } from './problem.js';
import { inOrder, nfsOf, type Series, type StepCost, shapeOf, sideBySide, tidied } from './series.js';

interface Composition {
  readonly series: Series;
  /** No series-parallel graph of these NFs is faster, nor as fast with fewer copies. */
  readonly proven: boolean;
}

/**
 * A series-parallel graph of low latency, then few copies, for any relation. Where every NF of a part of the chain must
 * come before all that follow, the parts are solved apart, which costs nothing; a part of at most `MAX_EXACT_NFS` NFs is
 * solved exactly, a larger one is cut where that gives the best graph, of a few cuts; of one once `expired`.
 */
export function compose(relation: Relation, cost: StepCost, expired: () => boolean = () => false): Composition {
  const parts = separable(relation).map((mask) => ({
    series: composePart({ relation, cost, expired }, mask),
    proven: membersOf(mask).length <= MAX_EXACT_NFS,
  }));
  return { series: tidied(parts.flatMap(({ series }) => series)), proven: parts.every(({ proven }) => proven) };
}

/** The chain cut wherever all before the cut must come before all after it. */
function separable(relation: Relation): number[] {
  const after = closureOf(relation);
  const parts: number[] = [];
  let from = 0;
  for (let cut = 1; cut <= relation.n; cut++) {
    const tail = (2 ** relation.n - 1) & ~(2 ** cut - 1);
    let all = true;
    for (let x = from; x < cut && all; x++) all = (after[x]! & tail) === tail;
    if (!all) continue;
    parts.push((2 ** cut - 1) & ~(2 ** from - 1));
    from = cut;
  }
  return parts;
}

interface Composing {
  readonly relation: Relation;
  readonly cost: StepCost;
  readonly expired: () => boolean;
}

function composePart(task: Composing, mask: number): Series {
  const { relation, cost } = task;
  const members = membersOf(mask);
  if (members.length <= MAX_EXACT_NFS) return exactSpg(relation, mask, cost.mirror_us + cost.merge_us).series;
  const components = componentsOf(relation, mask);
  if (components.length > 1) return packBranches(task, components);
  const composed = cutsOf(relation, mask)
    .slice(0, task.expired() ? 1 : TRIED_CUTS)
    .map((head) => [...composePart(task, head), ...composePart(task, mask & ~head)]);
  return composed.reduce((best, it) => (isBetter(relation, cost, it, best) ? it : best));
}

/** Cuts that are carried through, of those with the least sum of critical paths. */
const TRIED_CUTS = 3;

/** First parts of which no NF must follow one of the rest: in the order of the chain, and of the earliest end. */
function cutsOf(relation: Relation, mask: number): number[] {
  const members = membersOf(mask);
  const ends = earliestEnds(relation, mask);
  const byEnd = [...members].sort((a, b) => ends[a]! - ends[b]! || a - b);
  const heads = new Set<number>();
  for (const order of [members, byEnd]) {
    let head = 0;
    for (const nf of order.slice(0, -1)) {
      head |= 1 << nf;
      heads.add(head);
    }
  }
  const judged = [...heads].map((head) => ({
    head,
    latency_us: criticalPath(relation, head).latency_us + criticalPath(relation, mask & ~head).latency_us,
    apart: Math.abs(2 * membersOf(head).length - members.length),
  }));
  return judged.sort((a, b) => a.latency_us - b.latency_us || a.apart - b.apart).map(({ head }) => head);
}

/** When each NF can end at the earliest, none before an NF that it must not precede. */
function earliestEnds({ n, dependent, blocked, latency_us }: Relation, mask: number): Float64Array {
  const ends = new Float64Array(n);
  for (const y of membersOf(mask)) {
    const before = mask & ((1 << y) - 1);
    const start = Math.max(0, ...membersOf(dependent[y]! & before).map((x) => ends[x]!));
    ends[y] = Math.max(start + latency_us[y]!, ...membersOf(blocked[y]! & before).map((x) => ends[x]!));
  }
  return ends;
}

function isBetter({ latency_us }: Relation, cost: StepCost, a: Series, b: Series): boolean {
  const [x, y] = [shapeOf(a, latency_us, cost), shapeOf(b, latency_us, cost)];
  const close = Math.abs(x.latency_us - y.latency_us) <= 1e-9 * y.latency_us;
  return close ? x.copies < y.copies : x.latency_us < y.latency_us;
}

/** NFs that hang together by dependencies. */
function componentsOf({ dependent }: Relation, mask: number): number[] {
  const parts: number[] = [];
  for (let rest = mask; rest !== 0; ) {
    let part = rest & -rest;
    for (let grown = 0; grown !== part; ) {
      grown = part;
      for (const x of membersOf(grown)) part |= dependent[x]! & mask;
    }
    parts.push(part);
    rest &= ~part;
  }
  return parts;
}

/** Independent parts, the slowest alone, the others together as long as they are not slower (first fit decreasing). */
function packBranches(task: Composing, parts: readonly number[]): Series {
  const { relation, cost } = task;
  const latencyOf = (series: Series) => shapeOf(series, relation.latency_us, cost).latency_us;
  const branches = parts.map((mask) => composePart(task, mask)).sort((a, b) => latencyOf(b) - latencyOf(a));
  const most = latencyOf(branches[0]!);
  const packed: Series[] = [];
  for (const branch of branches) {
    const slim = slimmed(relation, branch, most, cost);
    const home = packed.findIndex((it) => fits(relation, it, slim, most, cost));
    if (home === -1) packed.push(slim);
    else packed[home] = joined(relation, packed[home]!, slim)!;
  }
  return sideBySide(packed);
}

/** The branch without any mirror, if that is fast enough. */
function slimmed(relation: Relation, branch: Series, most: number, cost: StepCost): Series {
  const plain = inOrder(nfsOf(branch).sort((a, b) => a - b));
  return shapeOf(plain, relation.latency_us, cost).latency_us <= most ? plain : branch;
}

function fits(relation: Relation, a: Series, b: Series, most: number, cost: StepCost): boolean {
  const both = joined(relation, a, b);
  return both !== null && shapeOf(both, relation.latency_us, cost).latency_us <= most;
}

function joined(relation: Relation, a: Series, b: Series): Series | null {
  if (mayPrecede(relation, a, b)) return [...a, ...b];
  if (mayPrecede(relation, b, a)) return [...b, ...a];
  const plain = [...a, ...b].every(({ kind }) => kind === 'nf');
  return plain ? inOrder(nfsOf([...a, ...b]).sort((x, y) => x - y)) : null;
}

function mayPrecede({ blocked }: Relation, first: Series, second: Series): boolean {
  const later = nfsOf(second).reduce((mask, nf) => mask | (1 << nf), 0);
  return nfsOf(first).every((nf) => (blocked[nf]! & later) === 0);
}
