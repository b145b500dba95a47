import type { CounterEntry, Entity, MeterEntry, Update } from '../p4runtime/messages.js';
import type { P4Info } from '../p4runtime/p4-info.js';
import type { EntryCount } from '../switch-driver.js';
import type { FabricMeter } from './fabric-entries.js';

/** What a switch holds of meters, by index: rate and burst as text, and what they have dropped. */
export interface HeldMeters {
  readonly rates: ReadonlyMap<number, string>;
  readonly dropped: ReadonlyMap<number, EntryCount>;
}

/** Asks for the meters and for what they have dropped. */
export function meterQueries(meters: readonly FabricMeter[], info: P4Info): Entity[] {
  return meters.flatMap(({ index }) => [
    { meterEntry: { meterId: idOf(info.meters, 'rates'), index: { index: String(index) } } },
    { counterEntry: { counterId: idOf(info.counters, 'over_rate'), index: { index: String(index) } } },
  ]);
}

export function heldMeters(entities: readonly Entity[]): HeldMeters {
  const rates = new Map<number, string>();
  const dropped = new Map<number, EntryCount>();
  for (const { meterEntry, counterEntry } of entities) {
    if (meterEntry?.config) rates.set(indexOf(meterEntry), rateText(meterEntry.config));
    if (!counterEntry) continue;
    const { packetCount = '0', byteCount = '0' } = counterEntry.data ?? {};
    dropped.set(indexOf(counterEntry), { packets: Number(packetCount), bytes: Number(byteCount) });
  }
  return { rates, dropped };
}

/**
 * Sets the meters that are otherwise, and those that were not among `before`, with full buckets, and what they have dropped to
 * nothing: an index still counts what an earlier meter there has dropped. `before` null: not known, so any may have been.
 */
export function meterUpdates(
  meters: readonly FabricMeter[],
  { rates }: HeldMeters,
  before: readonly FabricMeter[] | null,
  info: P4Info,
): Update[] {
  const wasThere = (meter: FabricMeter) => before === null || isAmong(before, meter);
  return meters.flatMap((meter): Update[] => {
    const { index, rate, burst } = meter;
    // One rate: a packet above it is red.
    const config = { cir: String(rate), cburst: String(burst), pir: String(rate), pburst: String(burst) };
    if (wasThere(meter) && rates.get(index) === rateText(config)) return [];
    const at = { index: { index: String(index) } };
    const meterEntry: MeterEntry = { meterId: idOf(info.meters, 'rates'), ...at, config };
    const data = { byteCount: '0', packetCount: '0' };
    const counterEntry: CounterEntry = { counterId: idOf(info.counters, 'over_rate'), ...at, data };
    return [
      { type: 'MODIFY', entity: { meterEntry } },
      { type: 'MODIFY', entity: { counterEntry } },
    ];
  });
}

/** Whether a meter is at the same index there. */
export function isAmong(meters: readonly FabricMeter[], { id, index }: FabricMeter): boolean {
  return meters.some((one) => one.id === id && one.index === index);
}

const indexOf = ({ index }: Pick<MeterEntry, 'index'>) => Number(index?.index ?? 0);
const rateText = ({ pir = '0', pburst = '0' }: NonNullable<MeterEntry['config']>) => `${pir} ${pburst}`;

function idOf(of: P4Info['meters'], name: string): number {
  const found = of.get(name);
  if (!found) throw new Error(`the program has no ${name}`);
  return found.id;
}
