import type { Stage } from './scenario.js';

/** Of counters, on a busy machine. */
const READING_S = 30;

export interface Count {
  readonly packets: number;
  readonly bytes: number;
}

/** Resolves when the counters of the switches are those after all that has been forwarded up to now. */
export async function readAnew({ api, until }: Stage, switches: readonly string[]): Promise<void> {
  const readings = async () => {
    const { items } = await api.call('listSwitches', { query: { limit: 1000 } });
    return new Map(items.flatMap(({ id, counted_ms }) => (switches.includes(id) ? [[id, counted_ms]] : [])));
  };
  // A reading that is under way may have begun before.
  for (let newer = 0; newer < 2; newer++) {
    const last = await readings();
    await until('a reading of the counters of every switch', READING_S, async () =>
      [...(await readings())].every(([id, counted_ms]) => counted_ms !== last.get(id)) ? true : null,
    );
  }
}

/** What was counted since. A counter that began anew counts from there. */
export function since(now: ReadonlyMap<string, Count>, before: ReadonlyMap<string, Count>): Map<string, Count> {
  return new Map(
    [...now].map(([name, { packets, bytes }]) => {
      const was = before.get(name);
      const goesOn = was !== undefined && was.packets <= packets && was.bytes <= bytes;
      return [name, goesOn ? { packets: packets - was.packets, bytes: bytes - was.bytes } : { packets, bytes }];
    }),
  );
}

export function total(counts: ReadonlyMap<string, Count>): Count {
  return [...counts.values()].reduce(
    (sum, { packets, bytes }) => ({ packets: sum.packets + packets, bytes: sum.bytes + bytes }),
    { packets: 0, bytes: 0 },
  );
}
