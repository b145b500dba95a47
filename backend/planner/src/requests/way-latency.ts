import type { LiveState } from './live-network.js';
import type { PlacedPoolInstance } from './pool-state.js';

/**
 * What packets take on a way through these instances, from the first engine to the exit, once instances of the plan are on other
 * servers: the time in each instance stays, the time between them changes. Null: one of them does not run.
 */
export function wayLatencies(
  all: readonly Pick<PlacedPoolInstance, 'id' | 'instance_id' | 'place' | 'latency_us'>[],
  { entry_us, transit_us }: Pick<LiveState, 'entry_us' | 'transit_us'>,
  moved: ReadonlyMap<string, string>,
): (way: readonly string[]) => number | null {
  const stops = new Map(
    all.flatMap(({ id, instance_id, place, latency_us }) =>
      instance_id === null || place === null || latency_us === null
        ? []
        : [[id, { place: moved.get(instance_id) ?? place, latency_us }] as const],
    ),
  );
  return (way) => {
    let sum = 0;
    let at: string | null = null;
    for (const id of way) {
      const stop = stops.get(id);
      if (!stop) return null;
      const transit = at === null ? entry_us(stop.place) : transit_us(at, stop.place);
      sum += (at === stop.place ? 0 : transit) + stop.latency_us;
      at = stop.place;
    }
    return sum;
  };
}
