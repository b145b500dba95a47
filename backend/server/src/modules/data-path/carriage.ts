import { type InstanceSample, nfInstances, type Plan, parseSampleKey, type Sample } from '@orrery/contract';
import type { Carriage } from '../../ports/data-path.js';
import { RateIntegral } from './rate-integral.js';

/** Reason of the engine's classifier: no edge of the chain takes the packet. */
const NO_EDGE = 'no_match';

/** A switch whose rules were not reported for this long says nothing about what is offered. */
const SILENT_MS = 3000;

interface ChainCounts {
  /** By sample key: each rule at each switch. */
  readonly packets: Map<string, RateIntegral>;
  readonly bits: Map<string, RateIntegral>;
  readonly delivered: RateIntegral;
  readonly refused: RateIntegral;
}

/** Compares what switches let into each chain with what leaves it. Times are of one clock. */
export class CarriageMeter {
  private chains: ReadonlyMap<string, ChainCounts> = new Map();
  private ruleChains: ReadonlyMap<string, string> = new Map();
  private plan: Plan | null = null;
  private readonly refusals = new Map<string, { readonly packets: number; readonly atMs: number }>();

  /** Tells the reasons of drops that the configuration of an NF asks for. */
  constructor(private readonly refusesOf: (nf: string) => readonly string[]) {}

  /** Counts of chains that are not in the plan are forgotten. */
  follow(plan: Plan | null): void {
    if (plan === this.plan) return;
    this.plan = plan;
    const rules = plan?.fabric.rules.filter(({ kind }) => kind === 'classify') ?? [];
    this.ruleChains = new Map(rules.flatMap(({ id, chain_id }) => (chain_id ? [[id, chain_id]] : [])));
    this.chains = new Map([...this.ruleChains.values()].map((id) => [id, this.chains.get(id) ?? newCounts()]));
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

  /** Reads what NFs have refused since they started; returns packets refused per second, by chain. */
  takeRefusals(counters: readonly InstanceSample[], nowMs: number): ReadonlyMap<string, number> {
    const refusedPerS = new Map<string, number>();
    const graph = this.plan ? nfInstances(this.plan.graph) : [];
    const nfOf = new Map(graph.map(({ id, nf }) => [id, nf]));
    const byId = new Map(counters.map((each) => [each.instance_id, this.refusedBy(each, nfOf.get(each.instance_id))]));
    for (const [chainId, { refused }] of this.chains) {
      let perS = 0;
      for (const { id, chain_id } of graph) {
        const packets = byId.get(id);
        if (chain_id !== chainId || packets === undefined) continue;
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

  /** `unknown`: a switch has been silent for more than `SILENT_MS`. */
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
    return { offered_packets: offered, offered_bps, share: Math.min(1, arrived / offered) };
  }

  /** Whether packets have left the chain within the last time. */
  delivers(chainId: string, nowMs: number, withinMs = SILENT_MS): boolean {
    return (this.chains.get(chainId)?.delivered.between(nowMs - withinMs, nowMs) ?? 0) >= 1;
  }

  private refusedBy({ drops }: InstanceSample, nf: string | undefined): number {
    const reasons = [NO_EDGE, ...(nf === undefined ? [] : this.refusesOf(nf))];
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
