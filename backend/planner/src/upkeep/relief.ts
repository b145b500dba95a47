import { CORE_BUDGET } from '../igraph/sizing.js';
import type { Place, PlacementProblem } from '../placement/problem.js';
import type { PlacementState } from '../placement/state.js';
import type { BoundedWays } from './bounded-ways.js';

const FULL = CORE_BUDGET * (1 + 1e-9);

/** The problem in which everything may stay in these places, also where they have less than it needs. */
export function withPlacesKept(problem: PlacementProblem, places: readonly Place[]): PlacementProblem {
  const { items, flows, bins } = problem;
  const used = bins.map(({ cores }) => ({ cores: Array<number>(cores).fill(0), memory: 0, in: 0, out: 0 }));
  for (const [item, { cycles_per_second, memory_bytes, outside_in_bps, outside_out_bps }] of items.entries()) {
    const { bin, core } = places[item]!;
    const at = used[bin]!;
    at.cores[core]! += cycles_per_second / bins[bin]!.hz;
    at.memory += memory_bytes;
    at.in += outside_in_bps;
    at.out += outside_out_bps;
  }
  for (const { from, to, rate_bps } of flows) {
    const [a, b] = [places[from]!.bin, places[to]!.bin];
    if (a === b) continue;
    used[a]!.out += rate_bps;
    used[b]!.in += rate_bps;
  }
  const kept = bins.map((bin, i) => {
    const { cores, memory, in: into, out } = used[i]!;
    return {
      ...bin,
      memory_bytes: Math.max(bin.memory_bytes, memory),
      link_bps: Math.max(bin.link_bps, into, out),
      kept: cores,
    };
  });
  return { ...problem, bins: kept };
}

/** What has to leave: cores with more to do than plans hand out, and items that may not stand where they do. */
interface Faults {
  readonly count: number;
  /** Of cores. */
  readonly excess: number;
}

/** Moves items away from where they may not stand, or the core has too much to do. */
export class Relief {
  /** `cycles_per_second`: what each item takes now. */
  constructor(private readonly cycles_per_second: readonly number[]) {}

  faults(state: PlacementState): number {
    return this.faultsAt(state, state.problem.bins.keys()).count;
  }

  /**
   * Moves at most `most` items, each by the move that leaves the fewest faults, then the least excess, then the least traffic
   * between servers, and takes no way out of its bound; those moves that in the end leave no fewer faults are taken back.
   */
  relieve(
    state: PlacementState,
    movable: ReadonlySet<number>,
    most: number,
    bounds: BoundedWays,
    isExpired: () => boolean,
  ): void {
    let [solved, fewest] = [state.mark(), this.faults(state)];
    for (let moved = 0; moved < most && fewest > 0 && !isExpired(); moved++) {
      const step = this.bestStep(state, movable, bounds, isExpired);
      if (!step || !bounds.tryMove(state, ...step)) break;
      const left = this.faults(state);
      if (left < fewest) [solved, fewest] = [state.mark(), left];
    }
    state.rollback(solved);
    state.commit();
  }

  private bestStep(
    state: PlacementState,
    movable: ReadonlySet<number>,
    bounds: BoundedWays,
    isExpired: () => boolean,
  ): readonly [item: number, bin: number] | null {
    const rounding = 1e-9;
    let best: { readonly step: readonly [number, number]; readonly gain: Faults; readonly cut: number } | null = null;
    for (const item of this.faulty(state).filter((item) => movable.has(item))) {
      const from = state.bin[item]!;
      for (const bin of state.problem.bins.keys()) {
        if (bin === from || !state.mayFit(item, bin)) continue;
        if (isExpired()) return best?.step ?? null;
        const before = this.faultsAt(state, [from, bin]);
        const mark = state.mark();
        if (!bounds.tryMove(state, item, bin)) continue;
        const after = this.faultsAt(state, [from, bin]);
        const gain = { count: before.count - after.count, excess: before.excess - after.excess };
        const { cut } = state;
        state.rollback(mark);
        if (gain.count < 0 || (gain.count === 0 && gain.excess <= rounding)) continue;
        const more = best ? gain.count - best.gain.count || gain.excess - best.gain.excess : 1;
        if (!best || more > rounding || (more > -rounding && cut < best.cut)) best = { step: [item, bin], gain, cut };
      }
    }
    return best?.step ?? null;
  }

  /** Items on cores with too much to do, and those that may not stand where they do. */
  private faulty(state: PlacementState): number[] {
    const use = state.problem.bins.map((_, bin) => this.useOf(state, bin));
    return [...state.problem.items.keys()].filter((item) => {
      const { bin, core } = state.placeOf(item)!;
      return use[bin]![core]! > FULL || isMisplaced(state, item);
    });
  }

  private faultsAt(state: PlacementState, bins: Iterable<number>): Faults {
    let [count, excess] = [0, 0];
    for (const bin of bins) {
      for (const item of state.members[bin]!) if (isMisplaced(state, item)) count++;
      for (const used of this.useOf(state, bin)) {
        if (used <= FULL) continue;
        count++;
        excess += used - FULL;
      }
    }
    return { count, excess };
  }

  private useOf(state: PlacementState, bin: number): Float64Array {
    const { cores, hz } = state.problem.bins[bin]!;
    const use = new Float64Array(cores);
    for (const item of state.members[bin]!) use[state.core[item]!]! += this.cycles_per_second[item]! / hz;
    return use;
  }
}

function isMisplaced(state: PlacementState, item: number): boolean {
  const { bin, core } = state.placeOf(item)!;
  return core >= state.problem.bins[bin]!.cores || state.problem.items[item]!.hosts?.bins.has(bin) === false;
}
