import {
  crossesServers,
  type FabricRule,
  type Filter,
  type GraphEdge,
  type MetadataField,
  type NfSplit,
  type PlannedChain,
} from '@orrery/contract';
import { wayAttribute, wayOf } from '../check/attributes.js';
import { graphOf } from '../check/graph.js';
import { matchTerms } from '../check/resolve-filter.js';
import { grouped } from '../grouped.js';
import { askedSplit, keptBySwitches } from '../igraph/asked-split.js';
import { WHOLE_RANGE } from '../igraph/flow-range.js';
import { sortAddresses } from './addresses.js';
import type { ChainToLower, LoweredChain } from './input.js';
import type { MetadataLayout } from './metadata.js';
import { awayBranches } from './switch-mirrors.js';

/** What the fabric does with one kind of packet, independent of how a switch expresses it: `switch/` turns it into table entries. */
export type SteeringRule = FabricRule;

/**
 * Packets in transit carry a hop tag and must not be reclassified. A class takes precedence over the return of replies, so
 * that a class of reply traffic is processed before the fabric returns it to the NF that rewrote it. Among classes,
 * the order of the edges in the definition decides. Guards take what nothing else steers.
 */
export const PRIORITY = { hop: 40_000, classify: 30_000, return: 10_000, guard: 1 } as const;

const BLANK = { from_hosts: [], from_servers: [], match: [], hop: null, key: [] };

/** Match of a class rule; independent of placement. */
export type ClassMatch = Pick<SteeringRule, 'id' | 'chain_id' | 'priority' | 'from_hosts' | 'match'> & {
  readonly pgraph_edge: string;
  /** What packets are given to carry; absent: nothing. */
  readonly metadata?: number;
};

/**
 * The class rules of a chain: one for each edge from its ingress to an NF; where the ingress has ways, one for each class
 * that takes the edge's way.
 */
export function classMatches({ chain_id, definition }: PlannedChain, layout: MetadataLayout): ClassMatch[] {
  const graph = graphOf(definition);
  const { from, match } = definition.traffic_class;
  return graph.edges.flatMap((edge, place): ClassMatch[] => {
    const ingress = graph.nodes.get(edge.from)!;
    if (ingress.kind !== 'ingress' || graph.nodes.get(edge.to)!.kind !== 'nf') return [];
    const pgraph_edge = `${definition.name}.${edge.id}`;
    const rule = { chain_id, pgraph_edge, priority: PRIORITY.classify - place };
    const matching = (terms: Filter) => matchTerms([...match, ...terms], () => null, layout);
    if (!ingress.ways)
      return [{ ...rule, id: `classify/${pgraph_edge}`, from_hosts: from, match: matching(edge.filter) }];
    const way = wayOf(ingress.id, edge.filter);
    const metadata = wordOf(way, layout.get(wayAttribute(ingress.id)));
    const taking = ingress.ways.find(({ id }) => id === way)?.classes ?? [];
    return taking.map((it) => ({
      ...rule,
      id: `classify/${pgraph_edge}.${it.id}`,
      from_hosts: it.from,
      match: matching(it.match),
      metadata,
    }));
  });
}

/** The metadata word of packets on a way. */
function wordOf(way: string | null, field: MetadataField | undefined): number {
  return way === null || !field ? 0 : field.values[way]! * 2 ** field.offset;
}

/**
 * What keeps packets of a chain from passing it by: for each of its classes with a term on a port, a rule for the fragments
 * that may be of it, and for a chain that fails closed its guard, which matches the whole class, also what no edge of the
 * ingress takes.
 */
export function guardRules(chain: PlannedChain, layout: MetadataLayout): SteeringRule[] {
  const { chain_id, definition } = chain;
  const { from, match, fail_closed } = definition.traffic_class;
  const fragments = classMatches(chain, layout)
    .filter((rule) => rule.match.some(({ field }) => field === 'port.src' || field === 'port.dst'))
    .map(
      ({ pgraph_edge: _edge, metadata: _word, ...rule }): SteeringRule => ({
        ...BLANK,
        ...rule,
        id: rule.id.replace('classify/', 'fragment/'),
        kind: 'fragment',
        targets: [],
      }),
    );
  if (!fail_closed) return fragments;
  return [
    ...fragments,
    {
      ...BLANK,
      id: `guard/${definition.name}`,
      chain_id,
      kind: 'guard',
      priority: PRIORITY.guard,
      from_hosts: from,
      match: matchTerms(match, () => null, layout),
      targets: [],
    },
  ];
}

/**
 * Steering of a placed graph: classes to their first hop, hops to their server, replies to the NF that rewrote them. Every
 * hop has a rule, because the switch that tags a packet may not be the one at which its server is attached.
 */
export function steeringRules(chains: readonly LoweredChain[], guards: readonly SteeringRule[]): SteeringRule[] {
  const of = (kind: keyof LoweredChain['rules']) => chains.flatMap(({ rules }) => rules[kind]);
  return [...of('classify'), ...of('hop'), ...of('mirror'), ...of('return'), ...guards];
}

/** The rules of one chain, but for its guards. */
export function chainRules(input: ChainToLower): LoweredChain['rules'] {
  return { classify: classRules(input), hop: hopRules(input), mirror: mirrorRules(input), return: returnRules(input) };
}

/** The flow ranges of the edge and their targets. */
function target({ range, hop, to_server }: GraphEdge): SteeringRule['targets'][number] {
  return { range, hop: hop!, server: to_server };
}

function classRules({ graph, chain, layout, switchNfs }: ChainToLower): SteeringRule[] {
  const entering = grouped(
    graph.edges.filter(({ from, direction }) => from === null && direction === 'forward'),
    ({ pgraph_edge }) => pgraph_edge!,
  );
  const nodeOf = new Map(graph.nodes.flatMap((node) => ('node_id' in node ? [[node.id, node.node_id]] : [])));
  const nodeIdOf = ({ to }: GraphEdge) => nodeOf.get(to) ?? '';
  return classMatches(chain, layout).flatMap(({ pgraph_edge, metadata, ...rule }): SteeringRule[] => {
    const edges = entering.get(pgraph_edge) ?? [];
    if (edges.length === 0) return [];
    const kept = edges[0]!.key.length > 0 ? keptBySwitches(askedSplit(chain, nodeIdOf(edges[0]!))) : null;
    const keep_flows = kept ? { keep_flows: kept } : {};
    const exceptions = exceptionsOf(askedSplit(chain, nodeIdOf(edges[0]!)), edges);
    const nfs = switchNfs.get(pgraph_edge);
    return [
      {
        ...BLANK,
        ...rule,
        kind: 'classify',
        key: edges[0]!.key,
        targets: edges.map((edge) => ({ ...target(edge), ...(metadata ? { metadata } : {}) })),
        ...keep_flows,
        ...exceptions,
        ...(nfs ? { nfs: [...nfs] } : {}),
      },
    ];
  });
}

/** Where a split in steps has the flows that go elsewhere than its ranges say; `edges`: to the instances, by ordinal. */
function exceptionsOf(asked: NfSplit | undefined, edges: readonly GraphEdge[]) {
  if (!asked?.staged || edges.length < 2) return {};
  const { exceptions, idle_timeout_s } = asked.staged;
  const flows = exceptions.flatMap(({ flow, ordinal }) => {
    const edge = edges[ordinal];
    return edge ? [{ flow, hop: edge.hop!, server: edge.to_server }] : [];
  });
  const isTakenOver = asked.staged.held === undefined || flows.length > 0;
  return isTakenOver ? { exceptions: { idle_timeout_s, flows } } : {};
}

/** The mirrors for which a switch copies, with the branches that it copies to. */
function switchMirrors({ nodes, edges }: ChainToLower['graph']) {
  return nodes.flatMap((node) => {
    if (node.kind !== 'mirror' || node.hop === null) return [];
    return [{ mirror: node, hop: node.hop, away: awayBranches(edges.filter(({ from }) => from === node.id)) }];
  });
}

function mirrorRules({ graph }: ChainToLower): SteeringRule[] {
  return switchMirrors(graph).map(
    ({ mirror, hop, away }): SteeringRule => ({
      ...BLANK,
      id: `mirror/${hop}`,
      chain_id: mirror.chain_id,
      kind: 'mirror',
      priority: PRIORITY.hop,
      from_servers: [mirror.server],
      hop,
      targets: away.map((edge) => ({ ...target(edge), range: WHOLE_RANGE })),
    }),
  );
}

function hopRules({ graph }: ChainToLower): SteeringRule[] {
  const copied = new Set(switchMirrors(graph).flatMap(({ away }) => away));
  const arriving = grouped(
    graph.edges.filter(({ hop }) => hop !== null),
    ({ hop }) => String(hop),
  );
  return [...arriving.values()].map((edges): SteeringRule => {
    const [edge] = edges as [GraphEdge];
    const senders = edges.filter((it) => crossesServers(it) && !copied.has(it)).map(({ from_server }) => from_server!);
    return {
      ...BLANK,
      id: `hop/${edge.hop}`,
      chain_id: edge.chain_id,
      kind: 'hop',
      priority: PRIORITY.hop,
      from_servers: [...new Set(senders)].sort(),
      hop: edge.hop,
      targets: [{ ...target(edge), range: WHOLE_RANGE }],
    };
  });
}

function returnRules({ graph, addresses }: ChainToLower): SteeringRule[] {
  const replies = graph.edges.filter(({ from, direction }) => from === null && direction === 'return');
  return replies.flatMap((edge) =>
    sortAddresses(addresses.get(edge.to) ?? []).map(
      (address): SteeringRule => ({
        ...BLANK,
        id: `return/${address}`,
        chain_id: edge.chain_id,
        kind: 'return',
        priority: PRIORITY.return,
        match: [{ field: 'ip.dst', prefix: `${address}/32`, not: false }],
        targets: [target(edge)],
      }),
    ),
  );
}
