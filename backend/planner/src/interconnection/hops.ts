import type { Plan } from '@orrery/contract';

export const MAX_HOP = 0xfffe;
/** Hops that one server's engine tells apart. */
export const MAX_HOPS_A_SERVER = 256;

export type HopDirection = 'forward' | 'return';

/** Hop ids by `<direction> <instance>`. */
export type HopTable = ReadonlyMap<string, number>;

export function hopKey(instanceId: string, direction: HopDirection): string {
  return `${direction} ${instanceId}`;
}

/** The hops of a plan. */
export function hopsOf(plan: Plan | null): HopTable {
  const table = new Map<string, number>();
  for (const { hops } of Object.values(plan?.nodes ?? {})) {
    for (const { hop, instance_id, direction } of hops) table.set(hopKey(instance_id, direction), hop);
  }
  return table;
}

/**
 * A hop for every destination, unique across the fabric. Destinations of the plan that runs keep theirs, and no id that
 * is in use there is given to another while packets with it may be on their way. `null` when the ids run out.
 */
export function assignHops(destinations: readonly string[], running: HopTable): HopTable | null {
  const table = new Map<string, number>();
  const used = new Set(running.values());
  let next = 1;
  for (const key of destinations) {
    let hop = running.get(key);
    if (hop === undefined) {
      while (used.has(next)) next++;
      hop = next++;
    }
    if (hop > MAX_HOP) return null;
    table.set(key, hop);
  }
  return table;
}
