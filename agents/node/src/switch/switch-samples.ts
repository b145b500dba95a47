import type { SwitchSamples, SwitchSpec } from '@orrery/contract';
import type { SwitchReading } from '../drivers/switch-driver.js';
import { monotonicMs } from '../platform/monotonic.js';
import { NfCounts } from './nf-counts.js';
import { RuleLatencies } from './rule-latency.js';
import { splitSamples } from './split-samples.js';

/** Counters per entry, and their sums per rule. */
export function switchSamples(
  { generation, entries }: SwitchSpec,
  { counts, kept = [], without_room = new Map() }: Pick<SwitchReading, 'counts' | 'kept' | 'without_room'>,
): Pick<SwitchSamples, 'generation' | 'entries' | 'rules' | 'splits'> {
  const rules = new Map<string, { packets: number; bytes: number }>();
  for (const [index, entry] of entries.entries()) {
    // What reaches `split` was counted where it was classified; what NFs take, where they pass it on.
    if (entry.rule_id === null || entry.table === 'split' || entry.nf || entersNfs(entry)) continue;
    const sum = rules.get(entry.rule_id) ?? { packets: 0, bytes: 0 };
    const { packets, bytes } = counts.get(index) ?? { packets: 0, bytes: 0 };
    rules.set(entry.rule_id, { packets: sum.packets + packets, bytes: sum.bytes + bytes });
  }
  return {
    generation,
    entries: [...counts].map(([index, { packets, bytes }]) => [index, packets, bytes]),
    rules: [...rules].map(([rule_id, sum]) => ({ rule_id, ...sum })),
    splits: splitSamples(entries, counts, kept, without_room),
  };
}

function entersNfs({ actions }: SwitchSpec['entries'][number]): boolean {
  return actions.some((action) => action.do === 'enter-nfs');
}

/**
 * Passes the counters of a switch on. The interval of a set is the time since the set sent before it, so that rates stay
 * true when sets between them could not be sent; these are counted in `lost`.
 */
export class SwitchSampler {
  private sent_ms: number | null = null;
  private lost = 0;
  private readonly nfs = new NfCounts();
  private readonly latencies = new RuleLatencies();

  constructor(
    private readonly send: (samples: SwitchSamples) => boolean,
    private readonly now_ms: () => number = monotonicMs,
  ) {}

  take(spec: SwitchSpec, reading: Pick<SwitchReading, 'counts' | 'kept' | 'metered' | 'latencies'>): void {
    this.nfs.take(spec, reading);
    const now = this.now_ms();
    this.latencies.take(reading.latencies ?? new Map(), now);
    // The first reading only begins the first interval.
    this.sent_ms ??= now;
    const interval_ms = now - this.sent_ms;
    if (interval_ms <= 0) return;
    const nfs = this.nfs.samples();
    const figures = switchSamples(spec, reading);
    const rules = figures.rules.map((rule) => {
      const latency = this.latencies.of(rule.rule_id);
      return latency ? { ...rule, latency } : rule;
    });
    const counted = { ...figures, rules, ...(nfs.length > 0 ? { nfs } : {}) };
    const samples = { ...counted, t_ms: Date.now(), interval_ms, lost: this.lost };
    if (this.send(samples)) this.sent_ms = now;
    else this.lost++;
  }
}
