import { imageOf, programOf } from '../check/implementation.js';
import { plannedChains } from '../check/planned-chains.js';
import { askedInstances } from '../igraph/asked-split.js';
import { type UnplacedGraph, workNodes } from '../igraph/graph.js';
import { hostsOf, movingTo, outside, runningPlaces, stagedHosts } from '../placement/from-graph.js';
import { type Bin, type Hosts, type PlacementProblem, problemOf } from '../placement/problem.js';
import type { OfferedInput } from './offered.js';

/**
 * Instances of an NF whose number was asked for stand on a core each: their load is more than its estimate, by which two of
 * them may fit on one.
 */
function apartIn(graph: UnplacedGraph, chains: OfferedInput['chains']): (string | null)[] {
  const byId = new Map(chains.map((chain) => [chain.chain_id, chain]));
  return workNodes(graph).map((node) => {
    if (node.kind !== 'nf') return null;
    const asked = askedInstances(byId.get(node.chain_id)!, node.node_id) ?? 1;
    return asked > 1 ? node.pgraph_node : null;
  });
}

/** Where an instance that is split in steps stands, as long as it may be there: its flows in progress are. */
function staying(host: Hosts | null, there: Hosts | null): Hosts | null {
  const mayStay = there !== null && [...there.bins].every((bin) => host === null || host.bins.has(bin));
  return mayStay ? there : host;
}

/** Where the nodes of the graph may stand, and what they need there, by all that the input offers, excludes and asks for. */
export function instanceProblem(
  input: OfferedInput,
  bins: readonly Bin[],
  graph: UnplacedGraph,
  table: PlacementProblem['table'],
): PlacementProblem {
  const { chains, base, infrastructure, abilities = {} } = input;
  const programs = new Set(input.descriptors.filter((it) => programOf(it) !== null).map(({ id }) => id));
  const images = new Set(input.descriptors.filter((it) => imageOf(it) !== null).map(({ id }) => id));
  const able = hostsOf(graph, infrastructure, input, abilities, { programs, images }, plannedChains(chains));
  const open = outside(able, infrastructure, input, runningPlaces(graph, base, infrastructure));
  const hosts = movingTo(open, graph, infrastructure, input.move ?? []);
  const staged = stagedHosts(graph, base, infrastructure);
  return problemOf(
    graph,
    bins,
    table,
    hosts.map((host, item) => staying(host, staged[item] ?? null)),
    apartIn(graph, chains),
  );
}
