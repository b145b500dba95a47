import type { Spending } from '../budget.js';
import { exceeds, type PreparedNetwork } from './network.js';
import type { ChainRequest } from './problem.js';
import { remainingLatency } from './stages.js';

/** What a search may use and must keep. */
interface Scope {
  readonly withOptions: boolean;
  readonly latency_us: number;
  /** 1 for stages that need neither throughput nor capacity, to see what conflicts; `null`: none. */
  readonly lifted: Uint8Array | null;
  /** A step is one label, or a few comparisons of labels. */
  readonly spending: Spending;
}

export interface Found {
  readonly path: Int32Array;
  readonly latency_us: number;
  /** Of all deployments. */
  readonly cost: number;
}

/** `complete` without `found`: no path qualifies. */
interface LabelResult {
  readonly found: Found | null;
  readonly complete: boolean;
}

/** Comparisons of labels that take as long as making one. */
const COMPARISONS_A_STEP = 16;

interface Label {
  readonly candidate: number;
  readonly latency: number;
  readonly cost: number;
  readonly before: Label | null;
  /** By shared resource. */
  readonly used: Float64Array;
}

/**
 * The path with the cheapest deployments, and among those the least latency, that overbooks nothing. Every partial path
 * is kept as a label unless another one to the same candidate is no worse in cost, latency and each shared resource.
 * HYPER's step 3 makes a failing node infinitely far instead, and thus misses paths on which the node serves one of two
 * functions only.
 */
export function bestByLabels(network: PreparedNetwork, request: ChainRequest, scope: Scope): LabelResult {
  return new LabelSearch(network, request, scope).run();
}

class LabelSearch {
  private readonly shared: SharedResources;
  private stopped = false;

  constructor(
    private readonly network: PreparedNetwork,
    private readonly request: ChainRequest,
    private readonly scope: Scope,
  ) {
    remainingLatency(network, request, scope.withOptions, scope.lifted);
    this.shared = new SharedResources(network, request, scope);
  }

  run(): LabelResult {
    const { functions } = this.request;
    const { byFunction } = this.network;
    let layer: Label[] | null = null;
    for (let k = 0; k < functions.length; k++) {
      const next: Label[] = [];
      const here = byFunction[functions[k]!]!;
      for (let p = 0; p < here.length; p++) next.push(...this.reach(layer, k, p, here[p]!));
      if (this.stopped) return { found: null, complete: false };
      layer = next;
    }
    return { found: this.bestOf(layer!), complete: true };
  }

  /** Labels at a candidate from those of the stage before, or from the ingress. */
  private reach(layer: readonly Label[] | null, stage: number, p: number, candidate: number): Label[] {
    const { nodes, node, transit_us, latency_us, candidates, scratch } = this.network;
    const left = scratch.backward[stage * candidates + p]!;
    const kept: Label[] = [];
    if (!Number.isFinite(left)) return kept;
    const at = node[candidate]!;
    const step = (before: Label | null, from: number) => {
      const latency = (before?.latency ?? 0) + transit_us[from * nodes + at]! + latency_us[candidate]!;
      if (!Number.isFinite(latency) || exceeds(latency + left, this.scope.latency_us)) return;
      if (!this.scope.spending.spend(1 + kept.length / COMPARISONS_A_STEP)) this.stopped = true;
      const label = this.shared.extended(before, candidate, stage, latency);
      if (label) this.keep(kept, label, stage);
    };
    if (layer === null) step(null, this.request.ingress);
    else
      for (const before of layer) {
        if (this.stopped) break;
        step(before, node[before.candidate]!);
      }
    return kept;
  }

  private keep(kept: Label[], label: Label, stage: number): void {
    for (const other of kept) if (this.shared.dominates(other, label, stage)) return;
    let w = 0;
    for (const other of kept) if (!this.shared.dominates(label, other, stage)) kept[w++] = other;
    kept.length = w;
    kept.push(label);
  }

  private bestOf(layer: readonly Label[]): Found | null {
    const { nodes, node, transit_us } = this.network;
    let best: Label | null = null;
    let bestLatency = Number.POSITIVE_INFINITY;
    for (const label of layer) {
      const latency = label.latency + transit_us[node[label.candidate]! * nodes + this.request.egress]!;
      if (best && (label.cost > best.cost || (label.cost === best.cost && latency >= bestLatency))) continue;
      best = label;
      bestLatency = latency;
    }
    if (!best) return null;
    const path = new Int32Array(this.request.functions.length);
    let k = path.length - 1;
    for (let label: Label | null = best; label; label = label.before) path[k--] = label.candidate;
    return { path, latency_us: bestLatency, cost: best.cost };
  }
}

/**
 * The resources that two stages may both need and that could then run short: nodes, instances, and whether an option is
 * deployed already.
 */
class SharedResources {
  private readonly nodeSlot: Int32Array;
  private readonly rateSlot: Int32Array;
  private readonly deploySlot: Int32Array;
  /** By slot: what is free, the last stage that may use it, whether more of it is better. */
  private readonly free: number[] = [];
  private readonly last: number[] = [];
  private readonly flag: boolean[] = [];

  constructor(
    private readonly network: PreparedNetwork,
    private readonly request: ChainRequest,
    private readonly scope: Scope,
  ) {
    this.nodeSlot = new Int32Array(network.nodes).fill(-1);
    this.rateSlot = new Int32Array(network.candidates).fill(-1);
    this.deploySlot = new Int32Array(network.candidates).fill(-1);
    this.findNodes();
    this.findInstances();
  }

  private findNodes(): void {
    const { nodes, node, nodeFree, byFunction } = this.network;
    const most = new Float64Array(nodes);
    const last = new Int32Array(nodes);
    const times = new Int32Array(nodes);
    const atStage = new Float64Array(nodes);
    this.request.functions.forEach((f, k) => {
      atStage.fill(-1);
      for (const c of byFunction[f]!) {
        if (this.isOpen(k, c)) atStage[node[c]!] = Math.max(atStage[node[c]!]!, this.need(c, k, false));
      }
      for (let v = 0; v < nodes; v++) {
        if (atStage[v]! < 0) continue;
        most[v]! += atStage[v]!;
        last[v] = k;
        times[v]!++;
      }
    });
    for (let v = 0; v < nodes; v++) {
      if (times[v]! > 1 && exceeds(most[v]!, nodeFree[v]!)) this.nodeSlot[v] = this.slot(nodeFree[v]!, last[v]!, false);
    }
  }

  private findInstances(): void {
    const { functions, throughput_bps } = this.request;
    const { byFunction, free_bps, running } = this.network;
    for (const f of new Set(functions)) {
      const times = functions.filter((it) => it === f).length;
      if (times < 2) continue;
      const last = functions.lastIndexOf(f);
      for (const c of byFunction[f]!) {
        if (!this.scope.withOptions && !running[c]) continue;
        if (exceeds(times * throughput_bps, free_bps[c]!)) this.rateSlot[c] = this.slot(free_bps[c]!, last, false);
        if (!running[c]) this.deploySlot[c] = this.slot(1, last, true);
      }
    }
  }

  private isOpen(stage: number, candidate: number): boolean {
    const { scratch, candidates, byFunction } = this.network;
    const p = byFunction[this.request.functions[stage]!]!.indexOf(candidate);
    return Number.isFinite(scratch.backward[stage * candidates + p]!);
  }

  private slot(free: number, last: number, flag: boolean): number {
    this.last.push(last);
    this.flag.push(flag);
    return this.free.push(free) - 1;
  }

  private need(candidate: number, stage: number, deployed: boolean): number {
    if (this.scope.lifted?.[stage]) return 0;
    const { perChain, perBps, fixed, running } = this.network;
    const base = perChain[candidate]! + perBps[candidate]! * this.request.throughput_bps;
    return running[candidate] || deployed ? base : base + fixed[candidate]!;
  }

  /** The label one stage further; `null`: something is overbooked. */
  extended(before: Label | null, candidate: number, stage: number, latency: number): Label | null {
    const used = before ? before.used.slice() : new Float64Array(this.free.length);
    const flag = this.deploySlot[candidate]!;
    const deployed = flag >= 0 && used[flag] === 1;
    const v = this.nodeSlot[this.network.node[candidate]!]!;
    if (v >= 0) {
      used[v]! += this.need(candidate, stage, deployed);
      if (exceeds(used[v]!, this.free[v]!)) return null;
    }
    const r = this.rateSlot[candidate]!;
    if (r >= 0 && !this.scope.lifted?.[stage]) {
      used[r]! += this.request.throughput_bps;
      if (exceeds(used[r]!, this.free[r]!)) return null;
    }
    if (flag >= 0 && !this.scope.lifted?.[stage]) used[flag] = 1;
    const price = this.network.running[candidate] || deployed ? 0 : this.network.cost[candidate]!;
    return { candidate, latency, cost: (before?.cost ?? 0) + price, before, used };
  }

  /** Whether the first label dominates the second: no worse in cost, latency and use of resources. */
  dominates(a: Label, b: Label, stage: number): boolean {
    if (a.cost > b.cost || a.latency > b.latency) return false;
    for (let s = 0; s < this.free.length; s++) {
      if (this.last[s]! <= stage) continue;
      if (this.flag[s] ? a.used[s]! < b.used[s]! : a.used[s]! > b.used[s]!) return false;
    }
    return true;
  }
}
