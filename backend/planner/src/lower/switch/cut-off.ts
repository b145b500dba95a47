import type { FabricRule, Infrastructure } from '@orrery/contract';
import { grouped } from '../../grouped.js';
import { type SwitchPlace, switchPlaces } from './topology.js';

/** A switch where packets of a rule come in, and a target to which no way leads from there. */
interface CutOff {
  readonly at: string;
  readonly target: string;
}

/** By host, server and slot: the switches where its packets come in. */
type Entrances = ReadonlyMap<string, readonly SwitchPlace[]>;

const KNOWN = new WeakMap<Infrastructure, Entrances>();

/**
 * Where no way leads on, the packets of a class would pass by their chain, and tagged ones would be lost. Of mirrors the
 * lowering itself tells.
 */
export function cutOff(
  { kind, from_hosts, from_servers, targets }: FabricRule,
  infrastructure: Infrastructure,
): CutOff[] {
  if (kind !== 'classify' && kind !== 'hop') return [];
  const entrances = entrancesOf(infrastructure);
  const hosts = kind === 'classify' && from_hosts.length === 0 ? infrastructure.hosts.map(({ id }) => id) : from_hosts;
  const places = new Set([...hosts, ...from_servers].flatMap((node) => entrances.get(node) ?? []));
  return [...places].flatMap(({ id, towards }) => {
    const target = targets.find(({ server }) => !towards.has(server));
    return target ? [{ at: id, target: target.server }] : [];
  });
}

function entrancesOf(infrastructure: Infrastructure): Entrances {
  const known = KNOWN.get(infrastructure);
  if (known) return known;
  const all = switchPlaces(infrastructure).flatMap((place) =>
    [...place.attached.map(({ endpoint }) => endpoint.node), ...place.senders.keys()].map((node) => ({ node, place })),
  );
  const entrances = new Map(
    [...grouped(all, ({ node }) => node)].map(([node, each]) => [node, each.map(({ place }) => place)]),
  );
  KNOWN.set(infrastructure, entrances);
  return entrances;
}
