import type { Constraint } from '../../placement/problem.js';
import { instancesNeeded, type ProvisioningProblem } from './problem.js';

/** Relative; sums in another order differ in their last digits. */
export const SLACK = 1e-9;

interface Delays {
  /** Entries `from * servers + to`. */
  readonly delay: Float64Array;
  readonly pairs: Int32Array;
}

const DELAYS = new WeakMap<ProvisioningProblem, Delays>();

/** Made once for each problem: a search makes many states of one. */
function delaysOf(problem: ProvisioningProblem): Delays {
  const known = DELAYS.get(problem);
  if (known) return known;
  const delay = Float64Array.from(problem.delay_us.flat());
  const pairs = Int32Array.from(delay.keys()).sort((a, b) => delay[a]! - delay[b]! || a - b);
  DELAYS.set(problem, { delay, pairs });
  return { delay, pairs };
}

/**
 * How many instances of each NF stand on each server, which share of the traffic they process, and what follows from
 * that. Shares are of the chain's rate. Entries `nf * servers + server`.
 */
export class ProvisioningState {
  readonly n: number;
  readonly s: number;
  readonly counts: Int32Array;
  readonly shares: Float64Array;
  readonly flows: Float64Array;
  readonly cores: Float64Array;
  readonly memory: Float64Array;
  readonly in: Float64Array;
  readonly out: Float64Array;
  /** Sum of share times delay, in us. */
  cost_us = 0;
  /** By how much servers are overbooked, as a sum of ratios to what they have. 0: nowhere. */
  overbooked = 0;
  /** Pairs of servers from the shortest delay on. */
  private readonly pairs: Int32Array;
  private readonly delay: Float64Array;
  private readonly give: Float64Array;
  private readonly take: Float64Array;

  constructor(readonly problem: ProvisioningProblem) {
    const { nfs, servers, edges } = problem;
    [this.n, this.s] = [nfs.length, servers.length];
    const { n, s } = this;
    this.counts = new Int32Array(n * s);
    this.shares = new Float64Array(n * s);
    this.flows = new Float64Array(edges.length * s * s);
    this.cores = new Float64Array(s);
    this.memory = new Float64Array(s);
    this.in = new Float64Array(s);
    this.out = new Float64Array(s);
    ({ delay: this.delay, pairs: this.pairs } = delaysOf(problem));
    this.give = new Float64Array(s);
    this.take = new Float64Array(s);
  }

  /** Share of the rate that one instance can process. */
  unit(nf: number): number {
    return this.problem.nfs[nf]!.instance_rate_bps / this.problem.rate_bps;
  }

  needed(nf: number): number {
    return instancesNeeded(this.problem.rate_bps, this.problem.nfs[nf]!.instance_rate_bps);
  }

  allows(nf: number, server: number): boolean {
    return this.problem.nfs[nf]!.servers?.includes(server) ?? true;
  }

  put(nf: number, server: number, by: number): void {
    this.counts[nf * this.s + server]! += by;
    this.cores[server]! += by * this.problem.nfs[nf]!.cores;
    this.memory[server]! += by * this.problem.nfs[nf]!.memory_bytes;
  }

  /** Part of the server that is taken; above 1: overbooked. */
  fill(server: number): number {
    const { cores, memory_bytes } = this.problem.servers[server]!;
    return Math.max(ratio(this.cores[server]!, cores), ratio(this.memory[server]!, memory_bytes));
  }

  /** Gives instances the shares of `wanted` as far as they can take them, the rest to where there is room. */
  spread(nf: number, wanted: (server: number) => number): void {
    const { s, counts, shares } = this;
    const unit = this.unit(nf);
    let given = 0;
    let room = 0;
    for (let k = 0; k < s; k++) {
      const most = counts[nf * s + k]! * unit;
      const share = Math.min(wanted(k), most);
      shares[nf * s + k] = share;
      given += share;
      room += most - share;
    }
    const more = given < 1 && room > 0 ? (1 - given) / room : 0;
    const less = given > 1 ? 1 / given : 1;
    for (let k = 0; k < s; k++) {
      const share = shares[nf * s + k]!;
      shares[nf * s + k] = share * less + more * (counts[nf * s + k]! * unit - share);
    }
  }

  spreadEvenly(nf: number): void {
    const needed = this.needed(nf);
    this.spread(nf, (k) => this.counts[nf * this.s + k]! / needed);
  }

  /** Sends traffic along each edge over the shortest delays first, and finds what that costs and overbooks. */
  evaluate(blindly = false): void {
    this.clear();
    this.problem.edges.forEach(({ from, to }, e) => {
      if (blindly) this.sendBlindly(e, from, to);
      else this.send(e, from, to);
    });
    this.account();
  }

  /** Takes given flows, entries `(edge * servers + from) * servers + to`, instead. */
  assign(flows: readonly number[]): void {
    const { s } = this;
    this.clear();
    flows.forEach((share, at) => {
      const e = Math.floor(at / (s * s));
      const pair = at - e * s * s;
      if (pair % (s + 1) === 0) this.flows[at] = share;
      else if (share > 1e-12) this.cross(e, pair, share);
    });
    this.account();
  }

  private clear(): void {
    this.flows.fill(0);
    this.in.fill(0);
    this.out.fill(0);
    this.cost_us = 0;
  }

  private account(): void {
    const { s, problem } = this;
    this.overbooked = 0;
    for (let i = 0; i < this.n; i++) {
      const nf = problem.nfs[i]!;
      if (!nf.enters && !nf.leaves) continue;
      for (let k = 0; k < s; k++) {
        if (nf.enters) this.in[k]! += this.shares[i * s + k]!;
        if (nf.leaves) this.out[k]! += this.shares[i * s + k]!;
      }
    }
    for (let k = 0; k < s; k++) this.overbooked += this.excess(k);
  }

  private send(e: number, from: number, to: number): void {
    const { s, shares, give, take } = this;
    let left = 0;
    for (let k = 0; k < s; k++) {
      const [a, b] = [shares[from * s + k]!, shares[to * s + k]!];
      const here = Math.min(a, b);
      this.flows[e * s * s + k * s + k] = here;
      give[k] = a - here;
      take[k] = b - here;
      left += a - here;
    }
    for (let p = 0; p < this.pairs.length && left > 1e-12; p++) {
      const pair = this.pairs[p]!;
      const k = Math.floor(pair / s);
      const to = pair - k * s;
      const share = Math.min(give[k]!, take[to]!);
      if (share <= 0) continue;
      give[k]! -= share;
      take[to]! -= share;
      left -= share;
      this.cross(e, pair, share);
    }
  }

  private sendBlindly(e: number, from: number, to: number): void {
    const { s, shares } = this;
    for (let pair = 0; pair < s * s; pair++) {
      const k = Math.floor(pair / s);
      const share = shares[from * s + k]! * shares[to * s + (pair - k * s)]!;
      if (k === pair - k * s) this.flows[e * s * s + pair] = share;
      else this.cross(e, pair, share);
    }
  }

  private cross(e: number, pair: number, share: number): void {
    const { s } = this;
    const k = Math.floor(pair / s);
    this.flows[e * s * s + pair]! += share;
    this.cost_us += share * this.delay[pair]!;
    this.out[k]! += share;
    this.in[pair - k * s]! += share;
  }

  private excess(k: number): number {
    const { link_bps } = this.problem.servers[k]!;
    const link = ratio(Math.max(this.in[k]!, this.out[k]!) * this.problem.rate_bps, link_bps);
    return over(this.fill(k)) + over(link);
  }

  /** All limits that the state violates. */
  conflicts(): Constraint[] {
    return this.problem.servers.flatMap((server, k) => {
      const rate = Math.max(this.in[k]!, this.out[k]!) * this.problem.rate_bps;
      const limits = [
        { constraint: 'cpu', needed: this.cores[k]!, available: server.cores, unit: 'cores' },
        { constraint: 'memory', needed: this.memory[k]!, available: server.memory_bytes, unit: 'bytes' },
        { constraint: 'link-bandwidth', needed: rate, available: server.link_bps, unit: 'bps' },
      ] as const;
      return limits
        .filter(({ needed, available }) => over(ratio(needed, available)) > 0)
        .map((it) => ({ ...it, where: server.id }));
    });
  }

  copyFrom(other: ProvisioningState): void {
    this.counts.set(other.counts);
    this.shares.set(other.shares);
    this.cores.set(other.cores);
    this.memory.set(other.memory);
    this.flows.set(other.flows);
    this.in.set(other.in);
    this.out.set(other.out);
    this.cost_us = other.cost_us;
    this.overbooked = other.overbooked;
  }
}

function ratio(used: number, available: number): number {
  if (used <= 0) return 0;
  return available > 0 ? used / available : 1e3 + used;
}

function over(ratio: number): number {
  return ratio > 1 + SLACK ? ratio - 1 : 0;
}
