import type { RuleLatency } from '@orrery/contract';
import type { LatencyStep } from '../drivers/switch-driver.js';

/** Figures are of the packets of so long. */
const WINDOW_MS = 10_000;

type Counted = ReadonlyMap<string, readonly LatencyStep[]>;

/** How long the packets of rules lately took, from what a switch has counted since it began. */
export class RuleLatencies {
  private readings: { readonly at_ms: number; readonly counted: Counted }[] = [];

  take(counted: Counted, at_ms: number): void {
    const last = this.readings.at(-1);
    // Fewer than before: the switch began anew.
    const fell = [...counted].some(([rule, steps]) => {
      const before = last?.counted.get(rule);
      return steps.some(({ packets }, i) => packets < (before?.[i]?.packets ?? 0));
    });
    const recent = fell ? [] : this.readings.filter((one) => one.at_ms >= at_ms - WINDOW_MS);
    this.readings = [...recent, { at_ms, counted }];
  }

  /** Null: none of its packets has come back lately. */
  of(rule: string): RuleLatency | null {
    const now = this.readings.at(-1)?.counted.get(rule);
    const before = this.readings.find(({ counted }) => counted.has(rule))?.counted.get(rule);
    if (!now || !before) return null;
    const lately = now.map(({ about_us, packets }, i) => ({ about_us, packets: packets - before[i]!.packets }));
    const packets = lately.reduce((sum, step) => sum + step.packets, 0);
    if (packets === 0) return null;
    return { packets, p50_us: quantileUs(lately, packets / 2), p99_us: quantileUs(lately, packets * 0.99) };
  }
}

function quantileUs(steps: readonly LatencyStep[], rank: number): number {
  let below = 0;
  return steps.find(({ packets }) => {
    below += packets;
    return below >= rank;
  })!.about_us;
}
