import type { Infrastructure } from '@orrery/contract';
import { waysOf } from './down-links.js';
import type { Section } from './sections.js';

/** What packets say of a section. */
interface Seen {
  /** All that was passed on is lost. */
  readonly isBroken: (section: Section) => boolean;
  /** Packets have arrived just now where it ends, of it or of another one that ends there. */
  readonly arrives: (section: Section) => boolean;
}

/**
 * By switch: whether packets arrive that have to take it, whatever way they come. Of some all are lost and of others none:
 * then it passes packets. Switches that no packet is known to have taken are left out.
 */
export function passageOf(
  sections: readonly Section[],
  { isBroken, arrives }: Seen,
  infrastructure: Infrastructure,
): ReadonlyMap<string, boolean> {
  const hops = sections.filter(({ scope }) => scope === 'hop');
  const ending = new Map<string, Section[]>();
  for (const hop of hops) for (const key of hop.to.receives) ending.set(key, [...(ending.get(key) ?? []), hop]);
  const beside = (hop: Section) => [...new Set(hop.to.receives.flatMap((key) => ending.get(key) ?? []))];
  const lost = hops.filter(isBroken).flatMap((hop) => crossed([hop], infrastructure));
  const passed = hops.filter(arrives).flatMap((hop) => crossed(beside(hop), infrastructure));
  return new Map([...lost.map((id) => [id, false] as const), ...passed.map((id) => [id, true] as const)]);
}

/** The switches on every way of the sections; none where packets may stay in a server. */
function crossed(sections: readonly Section[], infrastructure: Infrastructure): string[] {
  const ways = sections.flatMap(({ way }): (readonly string[])[] => {
    if (way.from.some((id) => way.to.includes(id))) return [[]];
    return waysOf(way, infrastructure).map(({ switches }) => switches);
  });
  const [first = [], ...rest] = ways;
  return first.filter((id) => rest.every((way) => way.includes(id)));
}
