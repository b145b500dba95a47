import type { Infrastructure, LinkSample, ObservedSwitch } from '@orrery/contract';

export const LINK_STATES = Symbol('LinkStates');

type Link = Infrastructure['links'][number];

/** Which links carry packets, for other modules. */
export interface LinkStates {
  /** The infrastructure as switches forward in it: around links that are down, where another way leads. */
  readonly routed: Infrastructure;
  /**
   * Links between switches that packets go around, where another way leads, by id: who told that they are down. Nobody: they are
   * those of a switch that is lost.
   */
  readonly avoided: ReadonlyMap<string, readonly string[]>;
  /** Switches that do not answer and pass no packets. Packets go around them, where another way leads. */
  readonly lostSwitches: ReadonlySet<string>;
  /** By switch: whether packets arrive that have to take it, as seen now; absent: nobody knows. */
  tellPassage(passage: ReadonlyMap<string, boolean>): void;
  onChange(listener: () => void): void;
}

type Emulated = ReadonlyMap<string, Pick<LinkSample, 'up'>>;
type Observed = (id: string) => Pick<ObservedSwitch, 'ports'> | null;

/** Who can tell whether a link is up: the twin, and the switches at its ends. */
export function reportersOf({ a, b }: Pick<Link, 'a' | 'b'>): string[] {
  return ['twin', ...[a, b].map(({ node, port }) => `${node} ${port}`)];
}

/** Whether the link is up, by each of `reportersOf` that tells anything. */
export function reportsOf(
  { id, a, b }: Pick<Link, 'id' | 'a' | 'b'>,
  emulated: Emulated,
  observedSwitch: Observed,
): ReadonlyMap<string, boolean> {
  const upAt = ({ node, port }: Link['a']) =>
    observedSwitch(node)?.ports.find(({ name, number }) => name === port && number !== null)?.up;
  const told = [emulated.get(id)?.up, upAt(a), upAt(b)];
  const reporters = reportersOf({ a, b });
  return new Map(told.flatMap((up, i) => (up === undefined ? [] : [[reporters[i]!, up] as const])));
}

/** The links that the twin, or a switch at one of their ends, reports as down. */
export function downLinks({ links }: Pick<Infrastructure, 'links'>, emulated: Emulated, observed: Observed): Link[] {
  return links.filter((link) => [...reportsOf(link, emulated, observed).values()].includes(false));
}
