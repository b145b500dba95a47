import type { SwitchSpec } from '@orrery/contract';
import type { EntryCount, LatencyCounts } from '../switch-driver.js';

/** So long after the last packet of a class its counters are still read. */
const QUIET_MS = 10_000;

/** Which classes have had packets lately: the latencies of the others are as they were, and reading them costs 32 cells each. */
export class RecentClasses {
  private packets: ReadonlyMap<string, number> = new Map();
  private readonly seen_ms = new Map<string, number>();
  private known: ReadonlyMap<string, LatencyCounts> = new Map();

  /** Those to be read. `counts`: of the entries, by index. */
  due(
    classes: ReadonlyMap<string, number>,
    { entries }: Pick<SwitchSpec, 'entries'>,
    counts: ReadonlyMap<number, EntryCount>,
    now_ms: number,
  ): ReadonlyMap<string, number> {
    const packets = new Map<string, number>();
    for (const [index, { packets: some }] of counts) {
      const rule = entries[index]?.rule_id ?? '';
      if (classes.has(rule)) packets.set(rule, (packets.get(rule) ?? 0) + some);
    }
    for (const rule of classes.keys()) if (packets.get(rule) !== this.packets.get(rule)) this.seen_ms.set(rule, now_ms);
    this.packets = packets;
    return new Map(
      [...classes].filter(
        ([rule, place]) =>
          this.known.get(rule)?.place !== place || now_ms - (this.seen_ms.get(rule) ?? -Infinity) <= QUIET_MS,
      ),
    );
  }

  /** All of them, with those that were read now. */
  merge(
    classes: ReadonlyMap<string, number>,
    read: ReadonlyMap<string, LatencyCounts>,
  ): ReadonlyMap<string, LatencyCounts> {
    const all = [...classes.keys()].flatMap((rule) => {
      const counted = read.get(rule) ?? this.known.get(rule);
      return counted ? [[rule, counted] as const] : [];
    });
    this.known = new Map(all);
    return this.known;
  }
}
