import type { Budget } from '../budget.js';
import { CORE_BUDGET } from '../igraph/sizing.js';
import { type Adjacency, adjacencyOf } from './adjacency.js';
import { decreasingOrder } from './packing.js';
import type { Place, PlacementProblem } from './problem.js';

/** Above this size all ways to place are too many to try. */
const MAX_FIT_ITEMS = 12;
/** Servers and cores looked at for an item, all together. */
const FIT_STEPS = 400_000;
const SLACK = 1 + 1e-9;
/** Between two looks at the clock. */
const STEPS_A_LOOK = 1024;

export interface ExactFit {
  /** By item; `null`: none was found. */
  readonly places: readonly Place[] | null;
  /** Whether all ways were tried. */
  readonly complete: boolean;
}

/**
 * The placement that overbooks nothing with the least traffic between servers, what is pinned where it is, by trying all
 * ways to place few items on cores; if the steps end first, the best that was found until then. Cores, memory, links and
 * hops that are overbooked by some of the items stay so with more, so nothing is missed.
 */
export function fitExactly(
  problem: PlacementProblem,
  pinned: readonly (Place | null)[],
  time: Pick<Budget, 'expired'>,
): ExactFit {
  const open = decreasingOrder(problem).filter((item) => !pinned[item]);
  if (open.length > MAX_FIT_ITEMS) return { places: null, complete: false };
  return new FitSearch(problem, pinned, open, time).run();
}

class FitSearch {
  private readonly adjacency: Adjacency;
  private readonly places: (Place | null)[];
  private readonly load: readonly Float64Array[];
  private readonly memory: Float64Array;
  private readonly linkIn: Float64Array;
  private readonly linkOut: Float64Array;
  private readonly count: Int32Array;
  private readonly crossingInto: Int32Array;
  private readonly kind: readonly string[];
  private readonly anyApart: boolean;
  private found: readonly Place[] | null = null;
  /** Traffic that crosses in `found`. */
  private least = Number.POSITIVE_INFINITY;
  private cut = 0;
  private hops = 0;
  private steps = 0;
  private looks = 0;

  constructor(
    private readonly problem: PlacementProblem,
    pinned: readonly (Place | null)[],
    private readonly open: readonly number[],
    private readonly time: Pick<Budget, 'expired'>,
  ) {
    const { items, bins } = problem;
    this.anyApart = items.some(({ apart }) => apart !== undefined);
    this.adjacency = adjacencyOf(problem);
    this.places = items.map(() => null);
    this.load = bins.map(({ cores }) => new Float64Array(cores));
    this.memory = new Float64Array(bins.length);
    this.linkIn = new Float64Array(bins.length);
    this.linkOut = new Float64Array(bins.length);
    this.count = new Int32Array(bins.length);
    this.crossingInto = new Int32Array(items.length);
    const hosts = [...new Set(items.flatMap((item) => item.hosts?.bins ?? []))];
    this.kind = bins.map(({ cores, hz, memory_bytes, link_bps }, b) =>
      [cores, hz, memory_bytes, link_bps, ...hosts.map((those) => those.has(b))].join(' '),
    );
    pinned.forEach((place, item) => {
      if (place) this.change(item, place, 1);
    });
  }

  run(): ExactFit {
    const complete = this.placeFrom(0);
    return { places: this.found, complete };
  }

  /** `false`: the steps or the time ended before all was tried. */
  private placeFrom(depth: number): boolean {
    if (this.cut >= this.least) return true;
    const item = this.open[depth];
    if (item === undefined) {
      this.found = this.places.map((place) => place!);
      this.least = this.cut;
      return true;
    }
    const choices = this.choices(item);
    if (choices === null) return false;
    for (const place of choices) {
      this.change(item, place, 1);
      const complete = !this.isSound(item, place.bin) || this.placeFrom(depth + 1);
      this.change(item, place, -1);
      if (!complete) return false;
    }
    return true;
  }

  private spend(steps: number): boolean {
    this.steps += steps;
    if (this.steps > FIT_STEPS) return false;
    const looks = Math.floor(this.steps / STEPS_A_LOOK);
    const isDue = looks > this.looks;
    this.looks = looks;
    return !(isDue && this.time.expired?.());
  }

  /**
   * Cores with room; of empty servers that are alike one, and of cores of a server that are equally full one. `null`: the
   * steps or the time ended before all were looked at.
   */
  private choices(item: number): Place[] | null {
    const { bins, items } = this.problem;
    const { cycles_per_second, memory_bytes, hosts, apart } = items[item]!;
    const same = apart === undefined ? [] : [...items.keys()].filter((other) => items[other]!.apart === apart);
    const empty = new Set<string>();
    const choices: Place[] = [];
    for (const [bin, { hz, memory_bytes: room }] of bins.entries()) {
      if (!this.spend(1)) return null;
      if (hosts && !hosts.bins.has(bin)) continue;
      if (this.memory[bin]! + memory_bytes > room * SLACK) continue;
      if (this.count[bin] === 0) {
        if (empty.has(this.kind[bin]!)) continue;
        empty.add(this.kind[bin]!);
      }
      const load = this.load[bin]!;
      if (!this.spend(load.length)) return null;
      const share = cycles_per_second / hz;
      const taken = new Set(
        same.flatMap((other) => {
          const there = this.places[other];
          return there?.bin === bin ? there.core : [];
        }),
      );
      const full = new Set<number>();
      load.forEach((used, core) => {
        if (used + share > CORE_BUDGET * SLACK || taken.has(core)) return;
        // Cores that are equally full differ where one of them has an item that others must not join.
        if (!this.anyApart && full.has(used)) return;
        full.add(used);
        choices.push({ bin, core });
      });
    }
    return choices;
  }

  /** Whether neither the server's link, nor a neighbour's, nor the switches' tables are overbooked. */
  private isSound(item: number, bin: number): boolean {
    const { first, other } = this.adjacency;
    const { fixed, available } = this.problem.table;
    if (fixed + this.hops > available || this.isOver(bin)) return false;
    for (let k = first[item]!; k < first[item + 1]!; k++) {
      const there = this.places[other[k]!];
      if (there && there.bin !== bin && this.isOver(there.bin)) return false;
    }
    return true;
  }

  private isOver(bin: number): boolean {
    const limit = this.problem.bins[bin]!.link_bps * SLACK;
    return this.linkIn[bin]! > limit || this.linkOut[bin]! > limit;
  }

  private change(item: number, place: Place, sign: 1 | -1): void {
    const { bin, core } = place;
    const { first, other, rate_bps, outgoing } = this.adjacency;
    const { cycles_per_second, memory_bytes, outside_in_bps, outside_out_bps } = this.problem.items[item]!;
    this.load[bin]![core]! += (sign * cycles_per_second) / this.problem.bins[bin]!.hz;
    this.memory[bin]! += sign * memory_bytes;
    this.linkIn[bin]! += sign * outside_in_bps;
    this.linkOut[bin]! += sign * outside_out_bps;
    this.count[bin]! += sign;
    this.places[item] = null;
    for (let k = first[item]!; k < first[item + 1]!; k++) {
      const neighbour = other[k]!;
      const there = this.places[neighbour]?.bin ?? bin;
      if (there === bin) continue;
      const rate = sign * rate_bps[k]!;
      this.cut += rate;
      this.linkOut[outgoing[k] ? bin : there]! += rate;
      this.linkIn[outgoing[k] ? there : bin]! += rate;
      const to = outgoing[k] ? neighbour : item;
      const before = this.crossingInto[to]!;
      this.crossingInto[to] = before + sign;
      if (before === 0) this.hops++;
      else if (before + sign === 0) this.hops--;
    }
    if (sign === 1) this.places[item] = place;
  }
}
