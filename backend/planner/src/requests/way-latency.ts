import type { PlaceTimes } from './live-network.js';
import type { PlacedPoolInstance } from './pool-state.js';

/** What packets take from the first engine through these in turn to the exit. */
export function alongWay(
  stops: readonly { readonly place: string; readonly latency_us: number }[],
  { entry_us, transit_us }: PlaceTimes,
): number {
  let sum = 0;
  let at: string | null = null;
  for (const { place, latency_us } of stops) {
    const transit = at === null ? entry_us(place) : transit_us(at, place);
    sum += (at === place ? 0 : transit) + latency_us;
    at = place;
  }
  return sum;
}

/**
 * What packets take on a way through these instances, from the first engine to the exit, once instances of the plan are on other
 * servers: the time in each instance stays, the time between them changes. Null: one of them does not run.
 */
export function wayLatencies(
  all: readonly Pick<PlacedPoolInstance, 'id' | 'instance_id' | 'place' | 'latency_us'>[],
  times: PlaceTimes,
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
    const found = way.flatMap((id) => stops.get(id) ?? []);
    return found.length < way.length ? null : alongWay(found, times);
  };
}
