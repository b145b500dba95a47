import type { ChainDefinition, NfDescriptor, Plan, PlannedChain } from '@orrery/contract';
import { type AssignedImplementations, implementationOf } from '../check/assigned-implementation.js';
import { indexDescriptors } from '../check/attributes.js';
import { configuredNf } from '../check/configured-nf.js';
import { type ChainGraph, graphOf, topologicalOrder } from '../check/graph.js';
import { withoutNegligible } from '../without-negligible.js';
import { askedInstances } from './asked-split.js';
import { countedCost } from './counted-cost.js';
import { cyclesPerPacket, instancesFor, packetRate } from './sizing.js';

export type PGraph = Plan['pgraph'];
export type PGraphNode = PGraph['nodes'][number];
export type PGraphEdge = PGraph['edges'][number];

export function pgraphNodeId(chain: string, node: string): string {
  return `${chain}.${node}`;
}

interface PGraphIndex {
  readonly nodes: ReadonlyMap<string, PGraphNode>;
  readonly edges: ReadonlyMap<string, PGraphEdge>;
}
const INDICES = new WeakMap<PGraph, PGraphIndex>();

/** Nodes and edges by id; made once for each graph. */
export function indexOf(pgraph: PGraph): PGraphIndex {
  const known = INDICES.get(pgraph);
  if (known) return known;
  const index = {
    nodes: new Map(pgraph.nodes.map((node) => [node.id, node])),
    edges: new Map(pgraph.edges.map((edge) => [edge.id, edge])),
  };
  INDICES.set(pgraph, index);
  return index;
}

const PARTS = new WeakMap<PGraph, ReadonlyMap<string, PGraph>>();

/** The union of the chains, given what each is in it (E2 3.4.1 step 1). */
export function joinedPGraph(parts: readonly (readonly [chain_id: string, part: PGraph])[]): PGraph {
  const pgraph = { nodes: parts.flatMap(([, { nodes }]) => nodes), edges: parts.flatMap(([, { edges }]) => edges) };
  PARTS.set(pgraph, new Map(parts));
  return pgraph;
}

/** What of the policy graph belongs to the chain: where it was joined, the very part. */
export function pgraphOfChain(pgraph: PGraph, { chain_id, definition }: PlannedChain): PGraph {
  const known = PARTS.get(pgraph)?.get(chain_id);
  if (known) return known;
  const { nodes, edges } = indexOf(pgraph);
  return {
    nodes: definition.nodes.flatMap(({ id }) => nodes.get(pgraphNodeId(definition.name, id)) ?? []),
    edges: definition.edges.flatMap(({ id }) => edges.get(`${definition.name}.${id}`) ?? []),
  };
}

/**
 * The union of the chains with one node for each NF of each (E2 3.4.1 step 1), its load from the rate estimates, and
 * the instances that carry it on cores of `referenceGhz` (step 2) or that are asked for, before the descriptor's limit on instances; one in
 * a slot of a board.
 * Precondition: `validateChain` finds no error in any of them.
 */
export function buildPGraph(
  chains: readonly PlannedChain[],
  descriptors: readonly NfDescriptor[],
  referenceGhz: number,
  implementations: AssignedImplementations = new Map(),
): PGraph {
  return joinedPGraph(
    chains.map((chain) => [chain.chain_id, chainPGraph(chain, descriptors, referenceGhz, implementations)]),
  );
}

/** What one chain is in the policy graph. */
export function chainPGraph(
  chain: PlannedChain,
  descriptors: readonly NfDescriptor[],
  referenceGhz: number,
  implementations: AssignedImplementations,
): PGraph {
  const { chain_id, definition } = chain;
  const catalogue = indexDescriptors(descriptors);
  const graph = graphOf(definition);
  const { edgeRates, nodeRates } = estimateRates(definition, graph);
  const endOf = (id: string) => (graph.nodes.get(id)!.kind === 'nf' ? pgraphNodeId(definition.name, id) : null);
  const nodes: PGraphNode[] = [];
  for (const node of graph.nodes.values()) {
    if (node.kind !== 'nf') continue;
    const bytes = definition.traffic_class.packet_bytes;
    const load_bps = nodeRates.get(node.id)!;
    const load_pps = packetRate(load_bps, bytes);
    const id = pgraphNodeId(definition.name, node.id);
    const descriptor = catalogue.get(node.nf)!;
    const implementation = implementationOf(implementations, id, configuredNf(descriptor, definition, node.id));
    const cost = countedCost(descriptor, definition, node.id, implementation);
    const cores_needed = (load_pps * cyclesPerPacket(cost, bytes)) / (referenceGhz * 1e9);
    nodes.push({
      id,
      chain_id,
      node_id: node.id,
      nf: node.nf,
      load_bps,
      load_pps,
      cores_needed,
      instances:
        implementation.driver === 'board'
          ? 1
          : (askedInstances(chain, node.id) ?? instancesFor(cores_needed / (node.cpu_limit ?? 1))),
    });
  }
  const edges = graph.edges.map(
    (edge): PGraphEdge => ({
      id: `${definition.name}.${edge.id}`,
      from: endOf(edge.from),
      to: endOf(edge.to),
      filter: edge.filter,
      rate_bps: edgeRates.get(edge.id)!,
    }),
  );
  return { nodes, edges };
}

/**
 * Rates in bits per second, conserved along the DAG: what enters a node is shared by its edges as they estimate it, the
 * rest in equal parts by edges without an estimate. Estimates that ask for more than arrives are scaled down. What is
 * negligible is 0, and nothing exceeds the class by rounding.
 */
function estimateRates(
  definition: ChainDefinition,
  graph: ChainGraph,
): { edgeRates: ReadonlyMap<string, number>; nodeRates: ReadonlyMap<string, number> } {
  const edgeRates = new Map<string, number>();
  const nodeRates = new Map<string, number>();
  for (const id of topologicalOrder(graph) ?? []) {
    const arriving =
      graph.nodes.get(id)!.kind === 'ingress'
        ? definition.traffic_class.rate_bps
        : Math.min(
            definition.traffic_class.rate_bps,
            graph.incoming.get(id)!.reduce((sum, edge) => sum + edgeRates.get(edge.id)!, 0),
          );
    nodeRates.set(id, arriving);
    const outgoing = graph.outgoing.get(id)!;
    const estimated = outgoing.reduce((sum, edge) => sum + (edge.rate_bps ?? 0), 0);
    const open = outgoing.filter((edge) => edge.rate_bps === undefined).length;
    const scale = estimated > arriving ? arriving / estimated : 1;
    for (const edge of outgoing) {
      const rest = Math.max(0, arriving - estimated) / open;
      const rate = edge.rate_bps === undefined ? rest : edge.rate_bps * scale;
      edgeRates.set(edge.id, withoutNegligible(Math.min(rate, arriving)));
    }
  }
  return { edgeRates, nodeRates };
}
