import { type InstanceGraph, lineageOf, nfInstances, type Plan } from '@orrery/contract';
import type { PlacedNode } from '../igraph/graph.js';
import { partsOf } from '../igraph/parts.js';

/** What an instance carried over a window. */
export interface MeasuredLoad {
  /** The id of the instance, as it runs. */
  readonly instance: string;
  readonly bps: number;
  /** Of the core on which it runs; null: not measured. */
  readonly core_share: number | null;
}

export type Clocks = ReadonlyMap<string, number>;

/** Carried, and taken of a core of 1 Hz. */
interface Work {
  readonly bps: number;
  readonly cycles: number;
}

interface Known {
  /** By `nameOf` an instance. */
  readonly instances: ReadonlyMap<string, Work>;
  /** What was measured by what was planned, of each NF and of each chain that was measured. */
  readonly ratios: ReadonlyMap<string, Work>;
}

/**
 * A graph with the loads that were measured of the plan that runs, wherever its instances stand: what was measured of an instance
 * stays with its successor. What was not measured changes in proportion to its NF, and what is no NF to its chain; without any
 * measurement it is as planned. `hz`: by server.
 */
export function measuredGraph(
  graph: InstanceGraph,
  running: Pick<Plan, 'graph'>,
  loads: readonly MeasuredLoad[],
  hz: Clocks,
): InstanceGraph {
  const known = knownOf(running.graph, loads, hz);
  const parts = [...partsOf(graph).values()].map((part) => measuredPart(part, known, hz));
  return { nodes: parts.flatMap(({ nodes }) => nodes), edges: parts.flatMap(({ edges }) => edges) };
}

function measuredPart({ nodes, edges }: InstanceGraph, known: Known, hz: Clocks): InstanceGraph {
  const planned = new Map(nodes.flatMap((node) => (node.kind === 'exit' ? [] : [[node.id, node] as const])));
  const now = new Map([...planned].map(([id, node]) => [id, loadOf(node, known, hz)]));
  const entering = new Map<string, number>();
  for (const { to } of edges) entering.set(to, (entering.get(to) ?? 0) + 1);
  const rateOf = ({ from, to, rate_bps }: InstanceGraph['edges'][number]): number => {
    const at = now.has(to) ? to : from;
    const was = at === null ? undefined : planned.get(at)?.load_bps;
    const is = at === null ? undefined : now.get(at)?.load_bps;
    if (was === undefined || is === undefined) return rate_bps;
    if (was > 0) return (rate_bps * is) / was;
    return at === to ? is / entering.get(to)! : rate_bps;
  };
  return {
    nodes: nodes.map((node) => (node.kind === 'exit' ? node : { ...node, ...now.get(node.id)! })),
    edges: edges.map((edge) => ({ ...edge, rate_bps: rateOf(edge) })),
  };
}

function loadOf(node: PlacedNode, { instances, ratios }: Known, hz: Clocks) {
  const own = node.kind === 'nf' ? instances.get(nameOf(node)) : undefined;
  if (own) return { load_bps: own.bps, core_share: own.cycles / hz.get(node.server)! };
  const ratio = ratios.get(node.kind === 'nf' ? node.pgraph_node : chainName(node.chain_id));
  const { bps, cycles } = ratio ?? { bps: 1, cycles: 1 };
  return { load_bps: node.load_bps * bps, core_share: node.core_share * cycles };
}

function knownOf(running: InstanceGraph, loads: readonly MeasuredLoad[], hz: Clocks): Known {
  const measured = new Map(loads.map((load) => [load.instance, load]));
  const instances = new Map<string, Work>();
  const sums = new Map<string, { planned: Work; measured: Work }>();
  const nothing: Work = { bps: 0, cycles: 0 };
  for (const node of nfInstances(running)) {
    const load = measured.get(node.id);
    const clock = hz.get(node.server);
    if (!load || clock === undefined) continue;
    const share = load.core_share ?? asDescribed(node.core_share, node.load_bps, load.bps);
    const was = { bps: node.load_bps, cycles: node.core_share * clock };
    const is = { bps: load.bps, cycles: share * clock };
    instances.set(nameOf(node), is);
    for (const of of [node.pgraph_node, chainName(node.chain_id)]) {
      const sum = sums.get(of) ?? { planned: nothing, measured: nothing };
      sums.set(of, { planned: added(sum.planned, was), measured: added(sum.measured, is) });
    }
  }
  const ratio = (a: number, b: number) => (b > 0 ? a / b : 1);
  const ratios = new Map(
    [...sums].map(([of, { planned, measured }]): [string, Work] => [
      of,
      { bps: ratio(measured.bps, planned.bps), cycles: ratio(measured.cycles, planned.cycles) },
    ]),
  );
  return { instances, ratios };
}

/** What the load takes of the core where each bit costs what was planned. */
function asDescribed(share: number, planned_bps: number, bps: number): number {
  return planned_bps > 0 ? (share * bps) / planned_bps : share;
}

function added(a: Work, b: Work): Work {
  return { bps: a.bps + b.bps, cycles: a.cycles + b.cycles };
}

function nameOf({ pgraph_node, id }: { readonly pgraph_node: string; readonly id: string }): string {
  return `${pgraph_node} ${lineageOf(id)}`;
}

/** No NF of the policy graph is called so. */
function chainName(chainId: string): string {
  return `chain ${chainId}`;
}
