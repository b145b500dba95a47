import { BlockList, isIP } from 'node:net';
import { type Infrastructure, type PlannedChain, slotPlace } from '@orrery/contract';
import { switchPlaces } from '@orrery/planner';
import type { PathTrouble } from '../../ports/data-path.js';
import type { Section } from './sections.js';

type Link = Infrastructure['links'][number];
export type DownLinks = readonly Link[];

/** Why a section loses every packet: the link at a server at its ends, or one on its way; null: no link explains it. */
export function causeOf(
  section: Pick<Section, 'servers' | 'way'>,
  down: DownLinks,
  infrastructure: Infrastructure,
): Link | null {
  if (down.length === 0) return null;
  const { servers, way } = section;
  return (
    down.find(({ a, b }) => isAmong(servers, a) || isAmong(servers, b)) ??
    waysOf(way, infrastructure)
      .flatMap(({ links }) => links)
      .find((each) => down.includes(each)) ??
    null
  );
}

/** Whether the end of a link is at one of the servers, hosts or slots at switches. */
function isAmong(places: readonly string[], { node, port }: Link['a']): boolean {
  const slot = /^(?:near|far)(\d+)$/.exec(port)?.[1];
  return (
    places.includes(node) || (slot !== undefined && places.includes(slotPlace({ board: node, slot: Number(slot) })))
  );
}

/** The switches between two places, and the links between them. */
export interface Way {
  readonly switches: readonly string[];
  readonly links: readonly Link[];
}

/** The ways that packets take: switches forward them on the shortest paths of the infrastructure that is given. */
export function waysOf({ from, to }: Section['way'], infrastructure: Infrastructure): Way[] {
  const places = new Map(switchPlaces(infrastructure).map((place) => [place.id, place]));
  const ends = infrastructure.links.flatMap((link) => [
    { link, near: link.a, far: link.b },
    { link, near: link.b, far: link.a },
  ]);
  const entries = ends.flatMap(({ near, far }) => (isAmong(from, near) && places.has(far.node) ? far.node : []));
  const trunks = ends.filter(({ near, far }) => places.has(near.node) && places.has(far.node));
  return to.flatMap((server) =>
    entries.map((entry) => {
      const switches: string[] = [];
      const links: Link[] = [];
      let at: string | undefined = entry;
      while (at !== undefined) {
        switches.push(at);
        const port: string | undefined = places.get(at)?.towards.get(server);
        const next: (typeof trunks)[number] | undefined = trunks.find(
          ({ near }) => near.node === at && near.port === port,
        );
        if (next) links.push(next.link);
        at = next?.far.node;
      }
      return { switches, links };
    }),
  );
}

/** A switch on the way of a section that passes no packets; null: there is none. */
export function lostOn(
  { way }: Pick<Section, 'way'>,
  lost: ReadonlySet<string>,
  infrastructure: Infrastructure,
): string | null {
  if (lost.size === 0) return null;
  return (
    waysOf(way, infrastructure)
      .flatMap(({ switches }) => switches)
      .find((id) => lost.has(id)) ?? null
  );
}

/** Senders of a chain that links which are down cut off: switches count nothing of them. */
export function cutOffSenders(
  { definition: { traffic_class } }: Pick<PlannedChain, 'definition'>,
  { links }: Pick<Infrastructure, 'links'>,
  down: DownLinks,
): PathTrouble[] {
  return cutOff(traffic_class.from, links, down, (host) => `nothing from ${host} enters this chain`);
}

/** Receivers of a chain that links which are down cut off: their packets are lost behind the exit, where nothing counts. */
export function cutOffReceivers(
  { definition: { traffic_class } }: Pick<PlannedChain, 'definition'>,
  { hosts, links }: Pick<Infrastructure, 'hosts' | 'links'>,
  down: DownLinks,
): PathTrouble[] {
  const receivers = hosts.filter((host) => isAddressed(host, traffic_class.match)).map(({ id }) => id);
  return cutOff(receivers, links, down, (host) => `nothing that leaves this chain reaches ${host}`);
}

function cutOff(
  hosts: readonly string[],
  links: Infrastructure['links'],
  down: DownLinks,
  textOf: (host: string) => string,
): PathTrouble[] {
  if (down.length === 0) return [];
  const cut = hosts.flatMap((host) => {
    const own = links.filter(({ a, b }) => a.node === host || b.node === host);
    return own[0] && own.every((link) => down.includes(link)) ? { host, link: own[0] } : [];
  });
  return cut.map(({ host, link }) => ({
    what: `${isDown(link)}: ${textOf(host)}`,
    isTotal: cut.length === hosts.length,
    link,
  }));
}

/** Whether a class names destinations, and one of a host's addresses is among them. */
function isAddressed(
  { addresses }: Infrastructure['hosts'][number],
  match: PlannedChain['definition']['traffic_class']['match'],
): boolean {
  const terms = match.filter(({ attribute }) => attribute === 'ip.dst');
  if (!terms.some(({ op }) => op === 'is')) return false;
  return addresses.some(({ address }) =>
    terms.every(({ op, value }) => covers(String(value), address) === (op === 'is')),
  );
}

/** Whether an address is in an IPv4 prefix; a prefix without a length is one address. */
function covers(prefix: string, address: string): boolean {
  if (isIP(address) !== 4) return false;
  const [network, length = '32'] = prefix.split('/') as [string, string?];
  const list = new BlockList();
  list.addSubnet(network, Number(length));
  return list.check(address);
}

export const isDown = ({ a, b }: Link) => `link ${a.node} - ${b.node} is down`;
