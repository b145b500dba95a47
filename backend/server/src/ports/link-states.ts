import type { Infrastructure, LinkSample, ObservedSwitch } from '@orrery/contract';

export const LINK_STATES = Symbol('LinkStates');

type Link = Infrastructure['links'][number];

/** Which links carry packets, for other modules. */
export interface LinkStates {
  /** The infrastructure as switches forward in it: around links that are down, where another way leads. */
  readonly routed: Infrastructure;
  /** Ids of links between switches that packets go around, where another way leads. */
  readonly avoided: ReadonlySet<string>;
  onChange(listener: () => void): void;
}

/** The links that the twin, or a switch at one of their ends, reports as down. */
export function downLinks(
  { links }: Pick<Infrastructure, 'links'>,
  emulated: ReadonlyMap<string, Pick<LinkSample, 'up'>>,
  observedSwitch: (id: string) => Pick<ObservedSwitch, 'ports'> | null,
): Link[] {
  const isDownAt = ({ node, port }: Link['a']) =>
    observedSwitch(node)?.ports.some(({ name, number, up }) => name === port && number !== null && !up) ?? false;
  return links.filter(({ id, a, b }) => emulated.get(id)?.up === false || isDownAt(a) || isDownAt(b));
}
