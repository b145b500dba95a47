import type { Place } from '../placement/problem.js';
import type { PlacementState } from '../placement/state.js';
import type { PlaceTimes } from '../requests/live-network.js';
import { alongWay } from '../requests/way-latency.js';

/** Packets that pass these instances in their order are to take so long at most, from the first engine to the exit. */
export interface WayBound {
  readonly most_us: number;
  /** Instances of the plan that runs, with their places. */
  readonly stops: readonly { readonly instance: string; readonly place: string; readonly latency_us: number }[];
}

/** Rounding of sums of latencies, relative. */
const ROUNDING = 1e-9;

/** How many of the ways take longer than they may where everything stands. */
export function lateWays(ways: readonly WayBound[], times: PlaceTimes): number {
  return ways.filter(({ most_us, stops }) => isOver(alongWay(stops, times), most_us)).length;
}

const isOver = (us: number, most_us: number) => us > most_us * (1 + ROUNDING);

type Step = readonly (readonly [item: number, bin: number])[];

/** Bounds of ways as objectives of a placement that is searched for less traffic. */
export class BoundedWays {
  private readonly all: ReadonlySet<number>;
  private readonly ofItem = new Map<number, Set<number>>();

  /** `items`: numbers of the instances that may move, by id; `bins`: ids of the servers. */
  constructor(
    private readonly ways: readonly WayBound[],
    private readonly times: PlaceTimes,
    private readonly items: ReadonlyMap<string, number>,
    private readonly pinned: readonly (Place | null)[],
    private readonly bins: readonly string[],
  ) {
    this.all = new Set(ways.keys());
    for (const [way, { stops }] of ways.entries())
      for (const { instance } of stops) {
        const item = items.get(instance);
        if (item === undefined) continue;
        const known = this.ofItem.get(item) ?? new Set();
        this.ofItem.set(item, known.add(way));
      }
  }

  /** Ways that take too long in this state. */
  late(state: PlacementState): number {
    return this.lateOf(this.all, state).length;
  }

  /** Moves the item, unless more ways would take too long then. */
  tryMove(state: PlacementState, item: number, bin: number): boolean {
    const mark = state.mark();
    const before = this.lateOf(this.through([item]), state).length;
    if (!state.tryMove(item, bin)) return false;
    if (this.lateOf(this.through([item]), state).length <= before) return true;
    state.rollback(mark);
    return false;
  }

  /**
   * Moves instances of ways that take too long, one by one, or all of a way back to where they run, as long as fewer ways do then:
   * the move that helps most, and of equal ones that with the least traffic.
   */
  mend(state: PlacementState, movable: ReadonlySet<number>, isExpired: () => boolean): void {
    while (!isExpired()) {
      const step = this.bestStep(state, movable, isExpired);
      if (!step) return;
      for (const [item, bin] of step) state.tryMove(item, bin);
    }
  }

  private bestStep(state: PlacementState, movable: ReadonlySet<number>, isExpired: () => boolean): Step | null {
    let best: { readonly step: Step; readonly gain: number; readonly cut: number } | null = null;
    for (const step of this.stepsFrom(state, movable)) {
      if (isExpired()) break;
      const touched = this.through(step.map(([item]) => item));
      const before = this.lateOf(touched, state).length;
      const mark = state.mark();
      if (step.every(([item, bin]) => state.tryMove(item, bin))) {
        const gain = before - this.lateOf(touched, state).length;
        const isBetter = !best || gain > best.gain || (gain === best.gain && state.cut < best.cut);
        if (gain > 0 && isBetter) best = { step, gain, cut: state.cut };
      }
      state.rollback(mark);
    }
    return best?.step ?? null;
  }

  private *stepsFrom(state: PlacementState, movable: ReadonlySet<number>): Generator<Step> {
    const seen = new Set<number>();
    for (const way of this.lateOf(this.all, state)) {
      const items = this.itemsOf(way).filter((item) => movable.has(item));
      const away = items.filter((item) => state.bin[item] !== this.pinned[item]!.bin);
      if (away.length > 1) yield away.map((item) => [item, this.pinned[item]!.bin] as const);
      for (const item of items) {
        if (seen.has(item)) continue;
        seen.add(item);
        for (const bin of this.bins.keys()) if (bin !== state.bin[item]) yield [[item, bin]];
      }
    }
  }

  private itemsOf(way: number): number[] {
    return this.ways[way]!.stops.flatMap(({ instance }) => this.items.get(instance) ?? []);
  }

  private through(items: readonly number[]): Set<number> {
    return new Set(items.flatMap((item) => [...(this.ofItem.get(item) ?? [])]));
  }

  private lateOf(ways: ReadonlySet<number>, state: PlacementState): number[] {
    return [...ways].filter((way) => {
      const { stops, most_us } = this.ways[way]!;
      const now = stops.map(({ instance, place, latency_us }) => {
        const item = this.items.get(instance);
        const bin = item === undefined ? null : state.bin[item]!;
        return { latency_us, place: bin === null || bin === this.pinned[item!]!.bin ? place : this.bins[bin]! };
      });
      return isOver(alongWay(now, this.times), most_us);
    });
  }
}
