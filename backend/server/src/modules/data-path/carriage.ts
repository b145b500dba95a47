import {
  type Instance,
  type InstanceSample,
  type NfDescriptor,
  nfInstances,
  type Plan,
  parseSampleKey,
  type Sample,
} from '@orrery/contract';
import { grouped } from '@orrery/planner';
import type { Carriage } from '../../ports/data-path.js';
import { TOLERANCE } from './loss.js';
import { RateIntegral } from './rate-integral.js';

/** Reason of the engine's classifier: no edge of the chain takes the packet. */
const NO_EDGE = 'no_match';

/** A switch whose rules were not reported for this long says nothing about what is offered. */
const SILENT_MS = 3000;

/** What NFs refuse is read no more often: agents report five times a second, each at its own time. */
const REFUSALS_MS = 200;

interface ChainCounts {
  /** By sample key: each rule at each switch. */
  readonly packets: Map<string, RateIntegral>;
  readonly bits: Map<string, RateIntegral>;
  readonly delivered: RateIntegral;
  readonly refused: RateIntegral;
}

/** The reasons of drops that the configuration of an NF asks for; null: it may drop so, and does not say which drops those are. */
export function refusalsOf(descriptor: Pick<NfDescriptor, 'actions'> | undefined): readonly string[] | null {
  if (!descriptor) return [];
  const { may_drop, refuses } = descriptor.actions;
  return refuses ?? (may_drop ? null : []);
}

/** Compares what switches let into each chain with what leaves it. Times are of one clock. */
export class CarriageMeter {
  private chains: ReadonlyMap<string, ChainCounts> = new Map();
  private ruleChains: ReadonlyMap<string, string> = new Map();
  private plan: Plan | null = null;
  private nfs: ReadonlyMap<string, readonly Instance[]> = new Map();
  private uncounted: ReadonlySet<string> = new Set();
  private readonly refusals = new Map<string, { readonly packets: number; readonly atMs: number }>();
  private refusalsReadMs = Number.NEGATIVE_INFINITY;

  /** `refusesOf`: see `refusalsOf`. */
  constructor(private readonly refusesOf: (nf: string) => readonly string[] | null) {}

  /** Counts of chains that are not in the plan are forgotten. */
  follow(plan: Plan | null): void {
    if (plan === this.plan) return;
    this.plan = plan;
    const rules = plan?.fabric.rules.filter(({ kind }) => kind === 'classify') ?? [];
    this.ruleChains = new Map(rules.flatMap(({ id, chain_id }) => (chain_id ? [[id, chain_id]] : [])));
    this.chains = new Map([...this.ruleChains.values()].map((id) => [id, this.chains.get(id) ?? newCounts()]));
    this.nfs = grouped(nfInstances(plan?.graph), ({ chain_id }) => chain_id);
    const uncounted = [...this.nfs].filter(([, own]) => own.some(({ nf }) => this.refusesOf(nf) === null));
    this.uncounted = new Set(uncounted.map(([chainId]) => chainId));
  }

  /** Whether every NF of the chain counts what it drops on purpose: otherwise what is missing behind it may be lost or not. */
  countsRefusals(chainId: string): boolean {
    return !this.uncounted.has(chainId);
  }

  take(samples: readonly Sample[], nowMs: number): void {
    for (const { key, value } of samples) {
      const name = parseSampleKey(key);
      if (name?.kind === 'chain' && name.metric === 'pps') this.chains.get(name.subject)?.delivered.take(value, nowMs);
      if (name?.kind !== 'rule') continue;
      const counts = this.chains.get(this.ruleChains.get(ruleOf(name.subject)) ?? '');
      const rates = name.metric === 'pps' ? counts?.packets : counts?.bits;
      if (!rates) continue;
      const rate = rates.get(key) ?? new RateIntegral();
      rates.set(key, rate);
      rate.take(value, nowMs);
    }
  }

  /**
   * Reads what NFs have refused since they started; returns packets refused per second, by chain. Null: it was read less than
   * `REFUSALS_MS` ago. The next reading has what this one would have had.
   */
  takeRefusals(counters: () => readonly InstanceSample[], nowMs: number): ReadonlyMap<string, number> | null {
    if (nowMs - this.refusalsReadMs < REFUSALS_MS) return null;
    this.refusalsReadMs = nowMs;
    const refusedPerS = new Map<string, number>();
    const byId = new Map(counters().map((each) => [each.instance_id, each]));
    for (const [chainId, { refused }] of this.chains) {
      let perS = 0;
      for (const { id, nf } of this.nfs.get(chainId) ?? []) {
        const sample = byId.get(id);
        if (!sample) continue;
        const packets = this.refusedBy(sample, nf);
        const past = this.refusals.get(id);
        this.refusals.set(id, { packets, atMs: nowMs });
        // A lower count is that of a new instance, which counts from zero.
        if (past && past.atMs < nowMs)
          perS += (packets - (packets < past.packets ? 0 : past.packets)) / ((nowMs - past.atMs) / 1000);
      }
      refused.take(perS, nowMs);
      refusedPerS.set(chainId, perS);
    }
    for (const id of this.refusals.keys()) if (!byId.has(id)) this.refusals.delete(id);
    return refusedPerS;
  }

  /** `unknown`: a switch has been silent for more than `SILENT_MS`, or what is missing may have been dropped on purpose. */
  carriage(chainId: string, seconds: number, nowMs: number): Carriage | 'unknown' | null {
    const counts = this.chains.get(chainId);
    if (!counts) return null;
    const current = [...counts.packets].flatMap(([key, rate]) => (this.chainOf(key) === chainId ? rate : []));
    const silent = current.filter(({ untilMs }) => nowMs - untilMs > SILENT_MS);
    if (silent.some((rate) => rate.between(rate.untilMs - 1000 * seconds, rate.untilMs) >= 1)) return 'unknown';
    const untilMs = Math.max(...[...counts.packets.values()].map((rate) => rate.untilMs));
    const fromMs = untilMs - 1000 * seconds;
    const over = (rate: RateIntegral) => rate.between(fromMs, untilMs);
    const all = (rates: ReadonlyMap<string, RateIntegral>) =>
      [...rates.values()].reduce((sum, rate) => sum + over(rate), 0);
    const offered = all(counts.packets);
    if (offered < 1) return silent.length > 0 ? 'unknown' : null;
    const arrived = over(counts.delivered) + over(counts.refused);
    const coveredS = Math.min(
      seconds,
      Math.max(1, ...[...counts.bits.values()].map((rate) => rate.secondsSince(fromMs))),
    );
    const offered_bps = all(counts.bits) / coveredS;
    const share = Math.min(1, arrived / offered);
    if (share < 1 - TOLERANCE && !this.countsRefusals(chainId)) return 'unknown';
    return { offered_packets: offered, offered_bps, share };
  }

  /** Packets that entered the chain between two times, as far as the switches have reported. */
  entered(chainId: string, fromMs: number, untilMs: number): number {
    const rates = [...(this.chains.get(chainId)?.packets.values() ?? [])];
    return rates.reduce((sum, rate) => sum + rate.between(fromMs, untilMs), 0);
  }

  /** Whether packets have left the chain within the last time. */
  delivers(chainId: string, nowMs: number, withinMs = SILENT_MS): boolean {
    return (this.chains.get(chainId)?.delivered.between(nowMs - withinMs, nowMs) ?? 0) > 0;
  }

  private refusedBy({ drops }: InstanceSample, nf: string): number {
    const reasons = [NO_EDGE, ...(this.refusesOf(nf) ?? [])];
    return reasons.reduce((sum, reason) => sum + (drops[reason] ?? 0), 0);
  }

  private chainOf(key: string): string | undefined {
    const name = parseSampleKey(key);
    return name?.kind === 'rule' ? this.ruleChains.get(ruleOf(name.subject)) : undefined;
  }
}

/** The rule of the subject of a sample, `switch rule`. */
const ruleOf = (subject: string) => subject.slice(subject.indexOf(' ') + 1);

function newCounts(): ChainCounts {
  return { packets: new Map(), bits: new Map(), delivered: new RateIntegral(), refused: new RateIntegral() };
}
