import type { FabricRule, HostNode, Infrastructure, Plan } from '@orrery/contract';
import { addressToNumber, isAddress, parsePrefix } from '../../check/ipv4.js';
import { type SwitchPlace, switchPlaces } from './topology.js';

/** What of a plan tells where packets go. */
export type Running = Pick<Plan, 'chains' | 'fabric' | 'nodes'>;

/** A way of packets: from where a node is attached towards a server or a host. */
interface Way {
  readonly from: string;
  readonly to: string;
}

/** Chains of which packets cross the switch: to the first NF, between servers, and from the last to a host. */
export function chainsOver(
  infrastructure: Infrastructure,
  switchId: string,
  { chains, fabric, nodes }: Running,
): string[] {
  const places = new Map(switchPlaces(infrastructure).map((place) => [place.id, place]));
  return chains.flatMap(({ chain_id }) => {
    const rules = fabric.rules.filter((rule) => rule.chain_id === chain_id);
    const ways = [...waysIn(rules, infrastructure), ...waysOut(chain_id, nodes, rules, infrastructure)];
    return ways.some((way) => crossed(places, way).includes(switchId)) ? [chain_id] : [];
  });
}

/** To the chain's servers and slots at switches, from hosts and from others of these. */
function waysIn(rules: readonly FabricRule[], infrastructure: Infrastructure): Way[] {
  return rules.flatMap((rule) => {
    const hosts = rule.kind === 'classify' || rule.kind === 'return' ? sourcesOf(rule, infrastructure) : [];
    return [...hosts, ...rule.from_servers].flatMap((from) => rule.targets.map(({ server }) => ({ from, to: server })));
  });
}

/** From the chain's last servers to the hosts that its packets may be for. */
function waysOut(
  chainId: string,
  nodes: Plan['nodes'],
  rules: readonly FabricRule[],
  infrastructure: Infrastructure,
): Way[] {
  const classes = rules.filter(({ kind }) => kind === 'classify');
  const ends = {
    forward: infrastructure.hosts.filter((host) => classes.some((rule) => mayBeFor(rule, host))).map(({ id }) => id),
    return: classes.flatMap((rule) => sourcesOf(rule, infrastructure)),
  };
  return Object.entries(nodes).flatMap(([from, { exits }]) =>
    exits.flatMap(({ chain_id, direction }) =>
      chain_id === chainId ? ends[direction].map((to) => ({ from, to })) : [],
    ),
  );
}

function sourcesOf({ from_hosts }: FabricRule, { hosts }: Infrastructure): readonly string[] {
  return from_hosts.length > 0 ? from_hosts : hosts.map(({ id }) => id);
}

function mayBeFor({ match }: FabricRule, { addresses }: HostNode): boolean {
  return match.every((term) => {
    if (term.field !== 'ip.dst') return true;
    const { first, last } = parsePrefix(term.prefix)!;
    const isIn = ({ address }: HostNode['addresses'][number]) =>
      isAddress(address) && addressToNumber(address) >= first && addressToNumber(address) <= last;
    return addresses.some((address) => isIn(address) !== term.not);
  });
}

/** The switches on the way, in order. */
function crossed(places: ReadonlyMap<string, SwitchPlace>, { from, to }: Way): string[] {
  const path: string[] = [];
  let here = [...places.values()].find((place) => isAt(place, from));
  while (here && !path.includes(here.id)) {
    path.push(here.id);
    const port = portTowards(here, to);
    const next = here.ports.find(({ name }) => name === port);
    here = next?.role === 'switch' ? places.get(next.neighbour) : undefined;
  }
  return path;
}

function isAt({ attached, senders }: SwitchPlace, node: string): boolean {
  return senders.has(node) || attached.some(({ endpoint }) => endpoint.node === node);
}

function portTowards({ towards, attached, distant }: SwitchPlace, node: string): string | undefined {
  return towards.get(node) ?? [...attached, ...distant].find(({ endpoint }) => endpoint.node === node)?.port;
}
