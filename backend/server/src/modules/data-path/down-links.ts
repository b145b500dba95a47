import type { Infrastructure, LinkSample, ObservedSwitch, PlannedChain } from '@orrery/contract';
import { switchPlaces } from '@orrery/planner';
import type { Section } from './sections.js';

type Link = Infrastructure['links'][number];

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

/** Why a section loses every packet: a link at a server at its ends, or one on its way; null: no link explains it. */
export function causeOf(
  section: Pick<Section, 'servers' | 'way'>,
  down: readonly Link[],
  infrastructure: Infrastructure,
): string | null {
  if (down.length === 0) return null;
  const { servers, way } = section;
  const link =
    down.find(({ a, b }) => servers.includes(a.node) || servers.includes(b.node)) ??
    linksOn(way, infrastructure).find((each) => down.includes(each));
  return link ? `${nameOf(link)} is down: this chain loses everything` : null;
}

/** The links between switches that packets take: switches forward them on shortest paths, also while one is down. */
function linksOn({ from, to }: Section['way'], infrastructure: Infrastructure): Link[] {
  const places = new Map(switchPlaces(infrastructure).map((place) => [place.id, place]));
  const ends = infrastructure.links.flatMap((link) => [
    { link, near: link.a, far: link.b },
    { link, near: link.b, far: link.a },
  ]);
  const entries = ends.flatMap(({ near, far }) => (from.includes(near.node) && places.has(far.node) ? far.node : []));
  const trunks = ends.filter(({ near, far }) => places.has(near.node) && places.has(far.node));
  const found = new Set<Link>();
  for (const server of to) {
    for (const entry of entries) {
      let at: string | undefined = entry;
      while (at !== undefined) {
        const port: string | undefined = places.get(at)?.towards.get(server);
        const next: (typeof trunks)[number] | undefined = trunks.find(
          ({ near }) => near.node === at && near.port === port,
        );
        if (next) found.add(next.link);
        at = next?.far.node;
      }
    }
  }
  return [...found];
}

/** The hosts of a class that are cut off, one line each: what they send reaches no switch, which so counts nothing. */
export function cutOffHosts(
  { definition }: Pick<PlannedChain, 'definition'>,
  { links }: Pick<Infrastructure, 'links'>,
  down: readonly Link[],
): string[] {
  return definition.traffic_class.from.flatMap((host) => {
    const own = links.filter(({ a, b }) => a.node === host || b.node === host);
    const [first] = own;
    if (!first || own.some((link) => !down.includes(link))) return [];
    return [`${nameOf(first)} is down: nothing from ${host} enters this chain`];
  });
}

const nameOf = ({ a, b }: Link) => `link ${a.node} - ${b.node}`;
