import { packetsBetween } from './tally.js';

/** How long counts are kept. */
const KEEP_MS = 15_000;
/** A first rate, or one after a gap, stands for this time at most. */
const LONGEST_INTERVAL_MS = 2000;

/** Packets counted by one counter, as reported at `toMs`. */
export interface Count {
  readonly fromMs: number;
  readonly toMs: number;
  readonly packets: number;
}

/** Packets by counter over the last seconds, from the rates that are reported. Times are of one monotonic clock. */
export class PacketMeter {
  private readonly counts = new Map<string, Count[]>();

  take(counter: string, pps: number, nowMs: number): void {
    const counts = this.counts.get(counter) ?? [];
    this.counts.set(counter, counts);
    const lastMs = counts.at(-1)?.toMs ?? nowMs - LONGEST_INTERVAL_MS;
    const fromMs = Math.max(lastMs, nowMs - LONGEST_INTERVAL_MS);
    // A report that came early says too little of a single packet; a rate above zero is at least one.
    const packets = pps > 0 ? Math.max(1, (pps * (nowMs - fromMs)) / 1000) : 0;
    counts.push({ fromMs, toMs: nowMs, packets });
    while (counts[0] && counts[0].toMs < nowMs - KEEP_MS) counts.shift();
  }

  /** Counts that were reported after `afterMs` and not after `untilMs`. */
  reported(counter: string, afterMs: number, untilMs: number): readonly Count[] {
    return (this.counts.get(counter) ?? []).filter(({ toMs }) => toMs > afterMs && toMs <= untilMs);
  }

  /** Packets counted between two times, as far as they were reported. */
  between(counter: string, fromMs: number, toMs: number): number {
    return packetsBetween(this.counts.get(counter) ?? [], fromMs, toMs);
  }

  /** When the counter was last reported; negative infinity: never. */
  untilMs(counter: string): number {
    return this.counts.get(counter)?.at(-1)?.toMs ?? Number.NEGATIVE_INFINITY;
  }

  /** Forgets counters that are not among these. */
  keepOnly(counters: ReadonlySet<string>): void {
    for (const counter of this.counts.keys()) if (!counters.has(counter)) this.counts.delete(counter);
  }
}
