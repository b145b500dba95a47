import type { Budget } from '../budget.js';
import { CORE_BUDGET } from '../igraph/sizing.js';
import { adjacencyOf } from './adjacency.js';
import type { PlacementProblem } from './problem.js';

/** Above this size a proof is out of reach. */
export const MAX_EXACT_ITEMS = 40;
const SLACK = 1 + 1e-9;

export interface ExactSearch {
  /** No placement cuts less; what was found when nothing better remains. */
  readonly lower_bound_bps: number;
  /** Servers of an assignment below `known_bps` that sums allow, to be tried on; `null` when there is none. */
  readonly better: Int32Array | null;
  /** Whether the search ended within its budget. */
  readonly complete: boolean;
}

/**
 * Branch and bound over all assignments that hosts and sums of processor time and memory allow, and two large items on
 * no core.
 * That is a relaxation: its least cut is a bound whatever cores, links and tables forbid. A step of the budget is one
 * partial assignment. `known_bps` is a cut that a real placement has; `fixed` names the servers of items that stay.
 */
export function searchExactly(
  problem: PlacementProblem,
  known_bps: number,
  budget: Budget,
  fixed: readonly (number | null)[] = [],
): ExactSearch {
  return new BranchAndBound(problem, known_bps, budget, fixed).run();
}

class BranchAndBound {
  private readonly order: readonly number[];
  private readonly bin: Int32Array;
  private readonly traffic: Float64Array;
  private readonly placedTraffic: Float64Array;
  private readonly cpu: Float64Array;
  private readonly memory: Float64Array;
  /** Cores that no item above half a core's budget has yet: two of those never share one. */
  private readonly freeCores: Int32Array;
  private readonly count: Int32Array;
  private readonly kind: readonly number[];
  private best: number;
  private better: Int32Array | null = null;
  private steps = 0;
  private cut = 0;

  constructor(
    private readonly problem: PlacementProblem,
    known_bps: number,
    private readonly budget: Budget,
    private readonly fixed: readonly (number | null)[],
  ) {
    const n = problem.items.length;
    const s = problem.bins.length;
    this.best = known_bps;
    /** Items that stay come first: after them only servers without any are alike. */
    const stays = (item: number) => (fixed[item] == null ? 1 : 0);
    this.order = connectedOrder(problem).sort((a, b) => stays(a) - stays(b));
    this.bin = new Int32Array(n).fill(-1);
    this.traffic = new Float64Array(n * s);
    this.placedTraffic = new Float64Array(n);
    this.cpu = Float64Array.from(problem.bins, ({ cores, hz }) => cores * hz * CORE_BUDGET * SLACK);
    this.memory = Float64Array.from(problem.bins, ({ memory_bytes }) => memory_bytes * SLACK);
    this.freeCores = Int32Array.from(problem.bins, ({ cores }) => cores);
    this.count = new Int32Array(s);
    const hosts = [...new Set(problem.items.flatMap((item) => item.hosts?.bins ?? []))];
    const kinds = problem.bins.map(({ cores, hz, memory_bytes }, b) =>
      [cores, hz, memory_bytes, ...hosts.map((bins) => bins.has(b))].join(' '),
    );
    this.kind = kinds.map((kind) => kinds.indexOf(kind));
  }

  run(): ExactSearch {
    const complete = this.place(0);
    return { lower_bound_bps: complete ? this.best : 0, better: this.better, complete };
  }

  /** `false` when the budget ended before all was looked at. */
  private place(depth: number): boolean {
    if (this.bound(depth) >= this.best * (1 - 1e-12)) return true;
    if (depth === this.order.length) {
      this.best = this.cut;
      this.better = this.bin.slice();
      return true;
    }
    if (++this.steps > this.budget.steps || (this.steps % 1024 === 0 && this.budget.expired?.())) return false;
    const item = this.order[depth]!;
    for (const bin of this.choices(item)) {
      this.add(item, bin, 1);
      const complete = this.place(depth + 1);
      this.add(item, bin, -1);
      if (!complete) return false;
    }
    return true;
  }

  /** What is cut so far, and for each item left the least that it adds with those placed. */
  private bound(depth: number): number {
    let bound = this.cut;
    for (let d = depth; d < this.order.length && bound < this.best; d++) {
      const item = this.order[d]!;
      if (this.placedTraffic[item] === 0) continue;
      bound += this.placedTraffic[item]! - this.mostKept(item);
    }
    return bound;
  }

  private mostKept(item: number): number {
    const s = this.problem.bins.length;
    let most = 0;
    for (let b = 0; b < s; b++) {
      const kept = this.traffic[item * s + b]!;
      if (kept > most && this.fits(item, b)) most = kept;
    }
    return most;
  }

  /** Servers with room, most traffic first; of empty ones that are alike, one. */
  private choices(item: number): number[] {
    const s = this.problem.bins.length;
    const stays = this.fixed[item] ?? null;
    if (stays !== null) return this.fits(item, stays) ? [stays] : [];
    const empty = new Set<number>();
    const open: number[] = [];
    for (let b = 0; b < s; b++) {
      if (this.count[b] === 0) {
        if (empty.has(this.kind[b]!)) continue;
        empty.add(this.kind[b]!);
      }
      if (this.fits(item, b)) open.push(b);
    }
    return open.sort((a, b) => this.traffic[item * s + b]! - this.traffic[item * s + a]! || a - b);
  }

  private fits(item: number, bin: number): boolean {
    const { cycles_per_second, memory_bytes, hosts } = this.problem.items[item]!;
    if (hosts && !hosts.bins.has(bin)) return false;
    if (cycles_per_second > this.problem.bins[bin]!.hz * CORE_BUDGET * SLACK) return false;
    if (this.isLarge(item, bin) && this.freeCores[bin] === 0) return false;
    return cycles_per_second <= this.cpu[bin]! && memory_bytes <= this.memory[bin]!;
  }

  private isLarge(item: number, bin: number): boolean {
    return this.problem.items[item]!.cycles_per_second * 2 > this.problem.bins[bin]!.hz * CORE_BUDGET * SLACK;
  }

  private add(item: number, bin: number, sign: 1 | -1): void {
    const s = this.problem.bins.length;
    const { first, other, rate_bps } = adjacencyOf(this.problem);
    const { cycles_per_second, memory_bytes } = this.problem.items[item]!;
    this.cpu[bin]! -= sign * cycles_per_second;
    this.memory[bin]! -= sign * memory_bytes;
    this.count[bin]! += sign;
    if (this.isLarge(item, bin)) this.freeCores[bin]! -= sign;
    this.cut += sign * (this.placedTraffic[item]! - this.traffic[item * s + bin]!);
    for (let k = first[item]!; k < first[item + 1]!; k++) {
      const neighbour = other[k]!;
      if (neighbour === item) continue;
      this.traffic[neighbour * s + bin]! += sign * rate_bps[k]!;
      this.placedTraffic[neighbour]! += sign * rate_bps[k]!;
    }
    this.bin[item] = sign === 1 ? bin : -1;
  }
}

/** Each next item has most traffic with those before it; the first has most of all. */
function connectedOrder(problem: PlacementProblem): number[] {
  const n = problem.items.length;
  const { first, other, rate_bps } = adjacencyOf(problem);
  const all = new Float64Array(n);
  for (let i = 0; i < n; i++) for (let k = first[i]!; k < first[i + 1]!; k++) all[i]! += rate_bps[k]!;
  const near = new Float64Array(n);
  const open = new Set(Array.from({ length: n }, (_, i) => i));
  const order: number[] = [];
  while (open.size > 0) {
    let pick = -1;
    for (const i of open) {
      if (pick < 0 || near[i]! > near[pick]! || (near[i] === near[pick] && all[i]! > all[pick]!)) pick = i;
    }
    open.delete(pick);
    order.push(pick);
    for (let k = first[pick]!; k < first[pick + 1]!; k++) near[other[k]!]! += rate_bps[k]!;
  }
  return order;
}
