import { CORE_BUDGET } from '../igraph/sizing.js';
import { type Adjacency, adjacencyOf } from './adjacency.js';
import type { Constraint, Place, PlacementProblem } from './problem.js';

/** Absorbs rounding in sums of rates and shares. */
const SLACK = 1 + 1e-9;
const FULL = CORE_BUDGET * SLACK;
const NOWHERE = -1;

/**
 * A placement in the making, which never overbooks a core, a server's memory, its link, or the fabric's table. A flow
 * between two placed items on different servers crosses; one with an unplaced end does not count yet.
 */
export class PlacementState {
  readonly bin: Int32Array;
  readonly core: Int32Array;
  /** Traffic between each item and each server's items: `traffic[item * bins + bin]`. */
  readonly traffic: Float64Array;
  cut = 0;
  readonly adjacency: Adjacency;
  /** Items of each server, in no particular order. */
  readonly members: readonly number[][];
  private readonly position: Int32Array;
  private readonly cycles: Float64Array;
  private readonly coreLoad: readonly Float64Array[];
  /** By server and core: for what is bound there. */
  private readonly room: readonly Float64Array[];
  /** By server: what its cores have above the budget. */
  private readonly kept: Float64Array;
  private readonly binLoad: Float64Array;
  private readonly memory: Float64Array;
  private readonly linkIn: Float64Array;
  private readonly linkOut: Float64Array;
  /** Crossing flows into each item; an item with any needs a hop entry. */
  private readonly crossingInto: Int32Array;
  private hops = 0;
  /** What each change replaced: item, server and core, three numbers a change. */
  private readonly journal: number[] = [];

  constructor(
    readonly problem: PlacementProblem,
    /** Core to which an item is bound as long as it stays on this server. */
    private readonly pinned: readonly (Place | null)[],
  ) {
    const n = problem.items.length;
    const s = problem.bins.length;
    this.adjacency = adjacencyOf(problem);
    this.bin = new Int32Array(n).fill(NOWHERE);
    this.core = new Int32Array(n).fill(NOWHERE);
    this.position = new Int32Array(n);
    this.traffic = new Float64Array(n * s);
    this.crossingInto = new Int32Array(n);
    this.cycles = Float64Array.from(problem.items, ({ cycles_per_second }) => cycles_per_second);
    this.coreLoad = problem.bins.map(({ cores }) => new Float64Array(cores));
    this.room = problem.bins.map(({ cores, kept }) => {
      return new Float64Array(cores).map((_, core) => Math.max(FULL, (kept?.[core] ?? 0) * SLACK));
    });
    this.kept = Float64Array.from(this.room, (room) => room.reduce((sum, core) => sum + core - FULL, 0));
    this.binLoad = new Float64Array(s);
    this.members = problem.bins.map(() => []);
    this.memory = new Float64Array(s);
    this.linkIn = new Float64Array(s);
    this.linkOut = new Float64Array(s);
  }

  /** The state in which items stand there. Precondition: that overbooks nothing. */
  static of(
    problem: PlacementProblem,
    pinned: readonly (Place | null)[],
    places: readonly (Place | null)[],
  ): PlacementState {
    const state = new PlacementState(problem, pinned);
    places.forEach((place, item) => {
      if (place) state.add(item, place.bin, place.core);
    });
    state.commit();
    return state;
  }

  /** Where the item stands; `null`: nowhere. */
  placeOf(item: number): Place | null {
    const bin = this.bin[item]!;
    return bin === NOWHERE ? null : { bin, core: this.core[item]! };
  }

  share(item: number, bin: number): number {
    return this.cycles[item]! / this.problem.bins[bin]!.hz;
  }

  /** A point to which `rollback` returns. */
  mark(): number {
    return this.journal.length;
  }

  /** Undoes every change since the mark. */
  rollback(mark: number): void {
    while (this.journal.length > mark) {
      const core = this.journal.pop()!;
      const bin = this.journal.pop()!;
      const item = this.journal.pop()!;
      if (bin === NOWHERE) this.take(item);
      else if (this.bin[item] === NOWHERE) this.put(item, bin, core);
      else this.setCore(item, bin, core);
    }
  }

  /** Clears the undo history. */
  commit(): void {
    this.journal.length = 0;
  }

  /** Places an unplaced item if nothing is overbooked by it; otherwise leaves everything as it was. */
  tryAdd(item: number, bin: number): boolean {
    if (!this.mayStand(item, bin)) return false;
    const { memory_bytes } = this.problem.items[item]!;
    if (this.memory[bin]! + memory_bytes > this.problem.bins[bin]!.memory_bytes * SLACK) return false;
    const core = this.coreWithRoom(item, bin);
    if (core !== NOWHERE) {
      this.add(item, bin, core);
      if (this.linkFault(item, bin) === null && !this.hopsOver()) return true;
      this.remove(item);
      this.journal.length -= 6;
      return false;
    }
    const cores = this.pinned[item]?.bin === bin ? null : this.repack(item, bin);
    if (!cores) return false;
    const mark = this.mark();
    for (const [other, to] of cores) {
      if (other === item) this.add(item, bin, to);
      else if (this.core[other] !== to) this.recore(other, bin, to);
    }
    if (this.linkFault(item, bin) === null && !this.hopsOver()) return true;
    this.rollback(mark);
    return false;
  }

  remove(item: number): void {
    this.journal.push(item, this.bin[item]!, this.core[item]!);
    this.take(item);
  }

  /** Moves a placed item if nothing is overbooked by it; otherwise leaves everything as it was. */
  tryMove(item: number, bin: number): boolean {
    const mark = this.mark();
    this.remove(item);
    if (this.tryAdd(item, bin)) return true;
    this.rollback(mark);
    return false;
  }

  /** Exchanges the servers of two placed items, likewise. */
  trySwap(item: number, other: number): boolean {
    const mark = this.mark();
    const from = this.bin[item]!;
    const to = this.bin[other]!;
    this.remove(item);
    this.remove(other);
    if (this.tryAdd(item, to) && this.tryAdd(other, from)) return true;
    this.rollback(mark);
    return false;
  }

  /** Whether sums forbid the item there, with another item gone if one is named; `true` promises nothing. */
  mayFit(item: number, bin: number, gone = NOWHERE): boolean {
    if (!this.mayStand(item, bin)) return false;
    const { cores, hz, memory_bytes } = this.problem.bins[bin]!;
    const load = (gone === NOWHERE ? this.cycles[item]! : this.cycles[item]! - this.cycles[gone]!) / hz;
    if (this.binLoad[bin]! + load > cores * FULL + this.kept[bin]!) return false;
    const { items } = this.problem;
    const memory = items[item]!.memory_bytes - (gone === NOWHERE ? 0 : items[gone]!.memory_bytes);
    return this.memory[bin]! + memory <= memory_bytes * SLACK;
  }

  /** The constraint that rules out a server for an unplaced item; `null` if none. */
  obstacle(item: number, bin: number): Constraint | null {
    const { id, cores, memory_bytes, link_bps, link_constraint } = this.problem.bins[bin]!;
    const { memory_bytes: needed, hosts } = this.problem.items[item]!;
    const why = hosts?.excluded?.get(bin);
    if (why !== undefined) return { constraint: 'excluded', needed: 1, available: 0, unit: why, where: id };
    if (hosts && !this.mayStand(item, bin))
      return { constraint: 'implementation', needed: 1, available: 0, unit: hosts.lack, where: id };
    if (this.coreWithRoom(item, bin) === NOWHERE && !this.repack(item, bin)) {
      const taken = this.coresApart(item, bin);
      if (taken && taken.size >= cores)
        return { constraint: 'cpu', needed: 1, available: 0, unit: 'cores without another instance of it', where: id };
      const share = this.share(item, bin);
      const least = Math.min(...this.coreLoad[bin]!);
      const free = cores === 0 ? 0 : Math.max(0, CORE_BUDGET - least);
      return { constraint: 'cpu', needed: share, available: free, unit: 'cores', where: id };
    }
    if (this.memory[bin]! + needed > memory_bytes * SLACK) {
      const available = memory_bytes - this.memory[bin]!;
      return { constraint: 'memory', needed, available, unit: 'bytes', where: id };
    }
    this.connect(item, bin, 1);
    const full = this.linkFault(item, bin);
    const hops = this.hops;
    const over = this.hopsOver();
    const load = full === null ? 0 : Math.max(this.linkIn[full]!, this.linkOut[full]!);
    this.connect(item, bin, -1);
    if (full === bin) {
      return { constraint: link_constraint, needed: load, available: link_bps, unit: 'bps', where: id };
    }
    if (full !== null) {
      const other = this.problem.bins[full]!;
      return {
        constraint: other.link_constraint,
        needed: load,
        available: other.link_bps,
        unit: 'bps',
        where: other.id,
      };
    }
    if (over) {
      const { fixed, available, where } = this.problem.table;
      return { constraint: 'switch-table', needed: fixed + hops, available, unit: 'entries', where };
    }
    return null;
  }

  /** Copies the placement; `restore` restores it exactly. */
  snapshot(): { bin: Int32Array; core: Int32Array } {
    return { bin: this.bin.slice(), core: this.core.slice() };
  }

  restore({ bin, core }: { bin: Int32Array; core: Int32Array }): void {
    for (let item = 0; item < bin.length; item++) {
      if (this.bin[item] === bin[item] && this.core[item] === core[item]) continue;
      if (this.bin[item] !== NOWHERE) this.remove(item);
    }
    for (let item = 0; item < bin.length; item++) {
      if (this.bin[item] === NOWHERE && bin[item] !== NOWHERE) this.add(item, bin[item]!, core[item]!);
    }
  }

  /** Traffic that would cross if the item stood there and all else stayed. Precondition: the item is placed. */
  cutIf(item: number, bin: number): number {
    const s = this.problem.bins.length;
    return Math.max(0, this.cut + this.traffic[item * s + this.bin[item]!]! - this.traffic[item * s + bin]!);
  }

  private mayStand(item: number, bin: number): boolean {
    return this.problem.items[item]!.hosts?.bins.has(bin) ?? true;
  }

  private add(item: number, bin: number, core: number): void {
    this.journal.push(item, NOWHERE, NOWHERE);
    this.put(item, bin, core);
  }

  private recore(item: number, bin: number, core: number): void {
    this.journal.push(item, bin, this.core[item]!);
    this.setCore(item, bin, core);
  }

  private put(item: number, bin: number, core: number): void {
    const share = this.share(item, bin);
    this.connect(item, bin, 1);
    this.core[item] = core;
    this.coreLoad[bin]![core]! += share;
    this.binLoad[bin]! += share;
    this.position[item] = this.members[bin]!.push(item) - 1;
    this.memory[bin]! += this.problem.items[item]!.memory_bytes;
  }

  private take(item: number): void {
    const bin = this.bin[item]!;
    const share = this.share(item, bin);
    this.coreLoad[bin]![this.core[item]!]! -= share;
    this.binLoad[bin]! -= share;
    const members = this.members[bin]!;
    const last = members.pop()!;
    if (last !== item) {
      members[this.position[item]!] = last;
      this.position[last] = this.position[item]!;
    }
    this.core[item] = NOWHERE;
    this.memory[bin]! -= this.problem.items[item]!.memory_bytes;
    this.connect(item, bin, -1);
  }

  private setCore(item: number, bin: number, core: number): void {
    const share = this.share(item, bin);
    this.coreLoad[bin]![this.core[item]!]! -= share;
    this.core[item] = core;
    this.coreLoad[bin]![core]! += share;
  }

  /** The item's own core where it is bound, otherwise the least loaded, if it has room. */
  private coreWithRoom(item: number, bin: number): number {
    const load = this.coreLoad[bin]!;
    const share = this.share(item, bin);
    const bound = this.pinned[item];
    if (bound?.bin === bin) return load[bound.core]! + share <= this.room[bin]![bound.core]! ? bound.core : NOWHERE;
    const taken = this.coresApart(item, bin);
    let least = NOWHERE;
    for (let core = 0; core < load.length; core++) {
      if (taken?.has(core)) continue;
      if (least === NOWHERE || load[core]! < load[least]!) least = core;
    }
    return least !== NOWHERE && load[least]! + share <= FULL ? least : NOWHERE;
  }

  /** Cores of the server with an item from which this one stands apart; `null`: it stands beside any. */
  private coresApart(item: number, bin: number): ReadonlySet<number> | null {
    const { apart } = this.problem.items[item]!;
    if (apart === undefined) return null;
    const same = this.members[bin]!.filter((other) => other !== item && this.problem.items[other]!.apart === apart);
    return new Set(same.map((other) => this.core[other]!));
  }

  /** Repacks the item and all unbound items of the server onto cores; `null` if they do not fit. */
  private repack(item: number, bin: number): [item: number, core: number][] | null {
    const { cores } = this.problem.bins[bin]!;
    const mine = this.share(item, bin);
    if (mine > FULL || this.binLoad[bin]! + mine > cores * FULL + this.kept[bin]!) return null;
    const load = new Float64Array(cores);
    const movable = [item];
    const occupied = new Set<string | null>();
    /** Two items above half a budget never share a core. */
    let large = mine * 2 > FULL ? 1 : 0;
    for (const other of this.members[bin]!) {
      const isAlone = this.share(other, bin) * 2 > FULL && this.room[bin]![this.core[other]!]! <= FULL;
      if (isAlone && ++large > cores) return null;
      if (this.pinned[other]?.bin === bin) {
        load[this.core[other]!]! += this.share(other, bin);
        occupied.add(this.onCore(other, this.core[other]!));
      } else movable.push(other);
    }
    movable.sort((a, b) => this.share(b, bin) - this.share(a, bin) || a - b);
    const out: [number, number][] = [];
    for (const other of movable) {
      const share = this.share(other, bin);
      const isFree = (core: number) => {
        const name = this.onCore(other, core);
        return name === null || !occupied.has(name);
      };
      const core = load.findIndex((used, at) => used + share <= FULL && isFree(at));
      if (core < 0) return null;
      load[core]! += share;
      occupied.add(this.onCore(other, core));
      out.push([other, core]);
    }
    return out;
  }

  private onCore(item: number, core: number): string | null {
    const { apart } = this.problem.items[item]!;
    return apart === undefined ? null : `${core} ${apart}`;
  }

  private connect(item: number, bin: number, sign: 1 | -1): void {
    const s = this.problem.bins.length;
    const { first, other, rate_bps, outgoing } = this.adjacency;
    const { outside_in_bps, outside_out_bps } = this.problem.items[item]!;
    this.linkIn[bin]! += sign * outside_in_bps;
    this.linkOut[bin]! += sign * outside_out_bps;
    for (let k = first[item]!; k < first[item + 1]!; k++) {
      const neighbour = other[k]!;
      const rate = sign * rate_bps[k]!;
      this.traffic[neighbour * s + bin]! += rate;
      const there = this.bin[neighbour]!;
      if (there === NOWHERE || there === bin) continue;
      this.cut += rate;
      this.linkOut[outgoing[k] ? bin : there]! += rate;
      this.linkIn[outgoing[k] ? there : bin]! += rate;
      const to = outgoing[k] ? neighbour : item;
      const before = this.crossingInto[to]!;
      this.crossingInto[to] = before + sign;
      if (before === 0) this.hops++;
      else if (before + sign === 0) this.hops--;
    }
    this.bin[item] = sign === 1 ? bin : NOWHERE;
    if (sign === -1) this.roundCut();
  }

  /** Rates of different size that are added and taken away again leave a remainder, which may be below zero. */
  private roundCut(): void {
    this.cut = this.hops === 0 ? 0 : Math.max(0, this.cut);
  }

  private linkFault(item: number, bin: number): number | null {
    if (this.linkOver(bin)) return bin;
    const { first, other } = this.adjacency;
    for (let k = first[item]!; k < first[item + 1]!; k++) {
      const there = this.bin[other[k]!]!;
      if (there !== NOWHERE && there !== bin && this.linkOver(there)) return there;
    }
    return null;
  }

  private linkOver(bin: number): boolean {
    const limit = this.problem.bins[bin]!.link_bps * SLACK;
    return this.linkIn[bin]! > limit || this.linkOut[bin]! > limit;
  }

  private hopsOver(): boolean {
    const { fixed, available } = this.problem.table;
    return fixed + this.hops > available;
  }
}
