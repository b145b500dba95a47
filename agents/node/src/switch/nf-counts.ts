import type { SwitchNfSample, SwitchSpec } from '@orrery/contract';
import type { EntryCount, SwitchReading } from '../drivers/switch-driver.js';

interface Totals {
  packets_in: number;
  packets_out: number;
  bytes_in: number;
  bytes_out: number;
  readonly drops: Record<string, number>;
}

const NOTHING: EntryCount = { packets: 0, bytes: 0 };

/**
 * Counts what NFs on a switch take, pass on and drop, from the counters of their entries and meters. Those begin anew when an entry is
 * written again: the sums go on.
 */
export class NfCounts {
  private readonly totals = new Map<string, Totals>();
  /** What entries and meters had counted at the last reading. */
  private seen: ReadonlyMap<string, EntryCount> = new Map();

  take({ entries }: SwitchSpec, { counts, metered = new Map() }: Pick<SwitchReading, 'counts' | 'metered'>): void {
    const now = new Map<string, EntryCount>();
    const runs = new Set<string>();
    const growth = (key: string, count: EntryCount = NOTHING): EntryCount => {
      now.set(key, count);
      const past = this.seen.get(key) ?? NOTHING;
      return count.packets < past.packets
        ? count
        : { packets: count.packets - past.packets, bytes: count.bytes - past.bytes };
    };
    const dropped = new Map<string, EntryCount>();
    for (const [index, { table, priority, match, actions, nf }] of entries.entries()) {
      if (!nf) continue;
      runs.add(nf.instance_id);
      const total = this.totalOf(nf.instance_id);
      const taken = growth(JSON.stringify([table, priority, match]), counts.get(index));
      total.packets_in += taken.packets;
      total.bytes_in += taken.bytes;
      if (nf.drops === undefined) continue;
      const meter = actions.find((action) => action.do === 'meter')?.meter;
      const lost = meter === undefined ? taken : growth(`meter ${meter}`, metered.get(meter));
      total.drops[nf.drops] = (total.drops[nf.drops] ?? 0) + lost.packets;
      const { packets, bytes } = dropped.get(nf.instance_id) ?? NOTHING;
      dropped.set(nf.instance_id, { packets: packets + lost.packets, bytes: bytes + lost.bytes });
    }
    for (const id of runs) this.passed(id, dropped.get(id) ?? NOTHING);
    for (const id of this.totals.keys()) if (!runs.has(id)) this.totals.delete(id);
    this.seen = now;
  }

  samples(): SwitchNfSample[] {
    return [...this.totals].map(([instance_id, { drops, ...of }]) => ({ instance_id, ...of, drops: { ...drops } }));
  }

  /** What a meter drops may be known before what its entry took: what is passed on never decreases. */
  private passed(id: string, lost: EntryCount): void {
    const total = this.totalOf(id);
    const all = this.lost.get(id) ?? NOTHING;
    const sum = { packets: all.packets + lost.packets, bytes: all.bytes + lost.bytes };
    this.lost.set(id, sum);
    total.packets_out = Math.max(total.packets_out, total.packets_in - sum.packets);
    total.bytes_out = Math.max(total.bytes_out, total.bytes_in - sum.bytes);
  }

  /** Dropped since the start. */
  private readonly lost = new Map<string, EntryCount>();

  private totalOf(id: string): Totals {
    const known = this.totals.get(id);
    if (known) return known;
    const none: Totals = { packets_in: 0, packets_out: 0, bytes_in: 0, bytes_out: 0, drops: {} };
    this.totals.set(id, none);
    this.lost.delete(id);
    return none;
  }
}
