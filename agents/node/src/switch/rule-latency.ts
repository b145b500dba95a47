import type { RuleLatency } from '@orrery/contract';
import type { LatencyCounts, LatencyStep } from '../drivers/switch-driver.js';

/** Figures are of the packets of so long. */
const WINDOW_MS = 10_000;

interface Readings {
  readonly place: number;
  readonly all: readonly { readonly at_ms: number; readonly steps: readonly LatencyStep[] }[];
}

/** How long the packets of rules lately took, from what a switch has counted since it began. */
export class RuleLatencies {
  private readings: ReadonlyMap<string, Readings> = new Map();

  take(counted: ReadonlyMap<string, LatencyCounts>, at_ms: number): void {
    this.readings = new Map(
      [...counted].map(([rule, { place, steps }]) => {
        const before = this.readings.get(rule);
        const last = before?.all.at(-1)?.steps;
        // Fewer than before: the switch began anew. Another place has counted for others.
        const isNew = before?.place !== place || steps.some(({ packets }, i) => packets < (last?.[i]?.packets ?? 0));
        const recent = isNew ? [] : before.all.filter((one) => one.at_ms >= at_ms - WINDOW_MS);
        return [rule, { place, all: [...recent, { at_ms, steps }] }];
      }),
    );
  }

  /** Null: none of its packets has come back lately. */
  of(rule: string): RuleLatency | null {
    const all = this.readings.get(rule)?.all;
    const [before, now] = [all?.[0], all?.at(-1)];
    if (!now || !before) return null;
    const lately = now.steps.map(({ about_us, packets }, i) => {
      return { about_us, packets: packets - before.steps[i]!.packets };
    });
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
