import { type Plan, parseSampleKey, type Sample } from '@orrery/contract';
import { KEEP_MS, RateIntegral } from '../../platform/rate-integral.js';
import type { Carriage } from '../../ports/data-path.js';
import { DropMeter, READ_MS } from './drop-meter.js';
import { TOLERANCE } from './loss.js';

/** A switch whose rules were not reported for this long says nothing about what is offered. */
const SILENT_MS = 3000;

interface ChainCounts {
  /** By sample key: each rule at each switch. */
  readonly packets: Map<string, RateIntegral>;
  readonly bits: Map<string, RateIntegral>;
  readonly delivered: RateIntegral;
}

/** Compares what switches let into each chain with what leaves it. Times are of one clock. */
export class CarriageMeter {
  private chains: ReadonlyMap<string, ChainCounts> = new Map();
  private ruleChains: ReadonlyMap<string, string> = new Map();
  private plan: Plan | null = null;
  readonly drops: DropMeter;

  /** `refusesOf`: see `refusalsOf`. */
  constructor(refusesOf: (nf: string) => readonly string[] | null) {
    this.drops = new DropMeter(refusesOf);
  }

  /** Counts of chains that are not in the plan are forgotten, and so are those of rules that were replaced long ago. */
  follow(plan: Plan | null): void {
    if (plan === this.plan) return;
    this.plan = plan;
    this.drops.follow(plan);
    const rules = plan?.fabric.rules.filter(({ kind }) => kind === 'classify') ?? [];
    this.ruleChains = new Map(rules.flatMap(({ id, chain_id }) => (chain_id ? [[id, chain_id]] : [])));
    this.chains = new Map([...this.ruleChains.values()].map((id) => [id, this.chains.get(id) ?? newCounts()]));
    for (const [id, { packets, bits }] of this.chains) for (const rates of [packets, bits]) this.dropOld(id, rates);
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
    const arrived = over(counts.delivered) + this.drops.refused(chainId, fromMs + READ_MS, untilMs + READ_MS);
    const coveredS = Math.min(
      seconds,
      Math.max(1, ...[...counts.bits.values()].map((rate) => rate.secondsSince(fromMs))),
    );
    const offered_bps = all(counts.bits) / coveredS;
    const share = Math.min(1, arrived / offered);
    if (share < 1 - TOLERANCE && !this.drops.countsRefusals(chainId)) return 'unknown';
    const lost = this.drops.lostPackets(chainId, fromMs + READ_MS, untilMs + READ_MS);
    return { offered_packets: offered, offered_bps, share, lost_share: Math.min(1, lost / offered) };
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

  /** What a rule let in before is still part of what is offered. */
  private dropOld(chainId: string, rates: Map<string, RateIntegral>): void {
    const newestMs = Math.max(...[...rates.values()].map(({ untilMs }) => untilMs));
    for (const [key, { untilMs }] of rates)
      if (this.chainOf(key) !== chainId && untilMs < newestMs - KEEP_MS) rates.delete(key);
  }

  private chainOf(key: string): string | undefined {
    const name = parseSampleKey(key);
    return name?.kind === 'rule' ? this.ruleChains.get(ruleOf(name.subject)) : undefined;
  }
}

/** The rule of the subject of a sample, `switch rule`. */
const ruleOf = (subject: string) => subject.slice(subject.indexOf(' ') + 1);

function newCounts(): ChainCounts {
  return { packets: new Map(), bits: new Map(), delivered: new RateIntegral() };
}
