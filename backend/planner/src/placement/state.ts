import { CORE_BUDGET } from '../igraph/sizing.js';
import type { Constraint, Flow, Place, PlacementProblem } from './problem.js';

/** Absorbs rounding in sums of rates and shares. */
const SLACK = 1 + 1e-9;
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
  private readonly flowsOf: readonly (readonly Flow[])[];
  private readonly coreLoad: readonly Float64Array[];
  private readonly binLoad: Float64Array;
  private readonly members: readonly Set<number>[];
  private readonly memory: Float64Array;
  private readonly linkIn: Float64Array;
  private readonly linkOut: Float64Array;
  /** Crossing flows into each item; an item with any needs a hop entry. */
  private readonly crossingInto: Int32Array;
  private hops = 0;

  constructor(
    readonly problem: PlacementProblem,
    /** Core to which an item is bound as long as it stays on this server. */
    private readonly pinned: readonly (Place | null)[],
  ) {
    const n = problem.items.length;
    const s = problem.bins.length;
    this.bin = new Int32Array(n).fill(NOWHERE);
    this.core = new Int32Array(n).fill(NOWHERE);
    this.traffic = new Float64Array(n * s);
    this.crossingInto = new Int32Array(n);
    this.coreLoad = problem.bins.map(({ cores }) => new Float64Array(cores));
    this.binLoad = new Float64Array(s);
    this.members = problem.bins.map(() => new Set());
    this.memory = new Float64Array(s);
    this.linkIn = new Float64Array(s);
    this.linkOut = new Float64Array(s);
    const flowsOf: Flow[][] = problem.items.map(() => []);
    for (const flow of problem.flows) {
      flowsOf[flow.from]!.push(flow);
      flowsOf[flow.to]!.push(flow);
    }
    this.flowsOf = flowsOf;
  }

  share(item: number, bin: number): number {
    return this.problem.items[item]!.cycles_per_second / this.problem.bins[bin]!.hz;
  }

  neighbours(item: number): readonly Flow[] {
    return this.flowsOf[item]!;
  }

  /** Places an unplaced item if nothing is overbooked by it; otherwise leaves everything as it was. */
  tryAdd(item: number, bin: number): boolean {
    const { memory_bytes } = this.problem.items[item]!;
    if (this.memory[bin]! + memory_bytes > this.problem.bins[bin]!.memory_bytes * SLACK) return false;
    const cores = this.assignCores(item, bin);
    if (!cores) return false;
    this.connect(item, bin, 1);
    if (this.linkFault(item, bin) !== null || this.hopsOver()) {
      this.connect(item, bin, -1);
      return false;
    }
    for (const [other, core] of cores) this.setCore(other, bin, core);
    this.memory[bin]! += memory_bytes;
    return true;
  }

  remove(item: number): void {
    const bin = this.bin[item]!;
    this.coreLoad[bin]![this.core[item]!]! -= this.share(item, bin);
    this.binLoad[bin]! -= this.share(item, bin);
    this.members[bin]!.delete(item);
    this.core[item] = NOWHERE;
    this.memory[bin]! -= this.problem.items[item]!.memory_bytes;
    this.connect(item, bin, -1);
  }

  /** What keeps an unplaced item from a server; `null` when nothing does. */
  obstacle(item: number, bin: number): Constraint | null {
    const { id, cores, memory_bytes, link_bps, link_constraint } = this.problem.bins[bin]!;
    const needed = this.problem.items[item]!.memory_bytes;
    if (!this.assignCores(item, bin)) {
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

  /** Copies where the items stand; `restore` brings it back exactly. */
  snapshot(): { bin: Int32Array; core: Int32Array } {
    return { bin: this.bin.slice(), core: this.core.slice() };
  }

  restore({ bin, core }: { bin: Int32Array; core: Int32Array }): void {
    for (let item = 0; item < bin.length; item++) {
      if (this.bin[item] === bin[item] && this.core[item] === core[item]) continue;
      if (this.bin[item] !== NOWHERE) this.remove(item);
    }
    for (let item = 0; item < bin.length; item++) {
      if (this.bin[item] !== NOWHERE || bin[item] === NOWHERE) continue;
      this.connect(item, bin[item]!, 1);
      this.setCore(item, bin[item]!, core[item]!);
      this.memory[bin[item]!]! += this.problem.items[item]!.memory_bytes;
    }
  }

  /** Traffic that would cross if the item stood there and all else stayed. Precondition: the item is placed. */
  cutIf(item: number, bin: number): number {
    const s = this.problem.bins.length;
    return this.cut + this.traffic[item * s + this.bin[item]!]! - this.traffic[item * s + bin]!;
  }

  private setCore(item: number, bin: number, core: number): void {
    const share = this.share(item, bin);
    if (this.core[item] !== NOWHERE) this.coreLoad[bin]![this.core[item]!]! -= share;
    else {
      this.binLoad[bin]! += share;
      this.members[bin]!.add(item);
    }
    this.core[item] = core;
    this.coreLoad[bin]![core]! += share;
  }

  /** The least loaded core if it has room; else all of the server's unbound items packed anew, if that makes room. */
  private assignCores(item: number, bin: number): [item: number, core: number][] | null {
    const load = this.coreLoad[bin]!;
    const share = this.share(item, bin);
    const bound = this.pinned[item];
    if (bound?.bin === bin) {
      return load[bound.core]! + share <= CORE_BUDGET * SLACK ? [[item, bound.core]] : this.repack(item, bin);
    }
    let least = 0;
    for (let core = 1; core < load.length; core++) if (load[core]! < load[least]!) least = core;
    if (load[least]! + share <= CORE_BUDGET * SLACK) return [[item, least]];
    return this.repack(item, bin);
  }

  private repack(item: number, bin: number): [item: number, core: number][] | null {
    const { cores } = this.problem.bins[bin]!;
    const mine = this.share(item, bin);
    if (mine > CORE_BUDGET * SLACK || this.binLoad[bin]! + mine > cores * CORE_BUDGET * SLACK) return null;
    const load = new Float64Array(cores);
    const movable = [item];
    /** Two items above half a budget never share a core. */
    let large = mine * 2 > CORE_BUDGET * SLACK ? 1 : 0;
    for (const other of this.members[bin]!) {
      if (this.share(other, bin) * 2 > CORE_BUDGET * SLACK && ++large > cores) return null;
      if (this.pinned[other]?.bin === bin) load[this.core[other]!]! += this.share(other, bin);
      else movable.push(other);
    }
    movable.sort((a, b) => this.share(b, bin) - this.share(a, bin) || a - b);
    const out: [number, number][] = [];
    for (const other of movable) {
      const share = this.share(other, bin);
      const core = load.findIndex((used) => used + share <= CORE_BUDGET * SLACK);
      if (core < 0) return null;
      load[core]! += share;
      out.push([other, core]);
    }
    return out;
  }

  private connect(item: number, bin: number, sign: 1 | -1): void {
    const s = this.problem.bins.length;
    const { outside_in_bps, outside_out_bps } = this.problem.items[item]!;
    this.linkIn[bin]! += sign * outside_in_bps;
    this.linkOut[bin]! += sign * outside_out_bps;
    for (const { from, to, rate_bps } of this.flowsOf[item]!) {
      const other = from === item ? to : from;
      this.traffic[other * s + bin]! += sign * rate_bps;
      const there = this.bin[other]!;
      if (there === NOWHERE || there === bin) continue;
      this.cut += sign * rate_bps;
      this.linkOut[from === item ? bin : there]! += sign * rate_bps;
      this.linkIn[from === item ? there : bin]! += sign * rate_bps;
      const before = this.crossingInto[to]!;
      this.crossingInto[to] = before + sign;
      if (before === 0) this.hops++;
      else if (before + sign === 0) this.hops--;
    }
    this.bin[item] = sign === 1 ? bin : NOWHERE;
  }

  private linkFault(item: number, bin: number): number | null {
    if (this.linkOver(bin)) return bin;
    for (const { from, to } of this.flowsOf[item]!) {
      const there = this.bin[from === item ? to : from]!;
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
