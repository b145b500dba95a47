import type { Infrastructure, NfDescriptor, ParallelProvisioning, PlannedPipeline, Quality } from '@orrery/contract';
import { CORE_BUDGET, cyclesPerPacket, packetRate } from '../igraph/sizing.js';
import { indexDescriptors } from '../pipeline/attributes.js';
import { softwareImplementation } from '../pipeline/implementation.js';
import type { Path } from '../pipeline/paths.js';
import { binsOf } from '../placement/problem.js';
import { hopDelay } from '../slo/latency.js';
import { nfsOf, type Series, spgText } from './construction/series.js';
import { MAX_MERGE_SERVERS, placeMirrorAndMerge, type Spot } from './merging/place.js';
import {
  instancesNeeded,
  MAX_SERVERS,
  type ProvisionedNf,
  type ProvisioningProblem,
  spgEdges,
} from './provisioning/problem.js';
import { type Provisioning, type ProvisionStrategy, provision } from './provisioning/provision.js';

/** Moves of the annealing. */
const STEPS = 4000;
const COMPARED: readonly ProvisionStrategy[] = ['annealing', 'greedy', 'linear', 'random'];

export interface ProvisionInput {
  readonly descriptors: readonly NfDescriptor[];
  readonly infrastructure: Infrastructure;
  readonly seed: number;
}

/** A series-parallel graph of a pipeline's NFs that is to get instances. */
export interface ProvisionedGraph {
  readonly pipeline: PlannedPipeline;
  readonly path: Path;
  readonly series: Series;
  readonly rate_bps: number;
}

/** The graph's provisioning problem on empty servers; `null` where there are none or too many of them. */
export function provisioningOf(input: ProvisionInput, graph: ProvisionedGraph): ProvisioningProblem | null {
  const { servers } = input.infrastructure;
  const most = Math.min(MAX_SERVERS, MAX_MERGE_SERVERS);
  if (servers.length === 0 || servers.length > most || graph.rate_bps <= 0) return null;
  return provisioningProblem(input, graph.pipeline, graph.path.nodes, graph.series, graph.rate_bps);
}

/** Our own answer to the problem, without the solver. */
export function provisionedBy(problem: ProvisioningProblem, strategy: ProvisionStrategy, seed: number): Provisioning {
  return provision(problem, { strategy, seed, budget: { steps: STEPS } });
}

/** Instances of a graph over the servers, as if these were empty, and how near they are to the least traffic. */
export function provisionForm(
  input: ProvisionInput,
  graph: ProvisionedGraph,
): { form: ParallelProvisioning; quality: Quality | null } | null {
  const problem = provisioningOf(input, graph);
  if (!problem) return null;
  const { pipeline, path, series, rate_bps } = graph;
  const { nodes } = path;
  const { servers } = input.infrastructure;
  const all = COMPARED.map((strategy) => ({ strategy, found: provisionedBy(problem, strategy, input.seed) }));
  const ours = all[0]!.found;
  const form = {
    counts: ours.feasible ? countsOf(ours, nodes, servers) : [],
    cross_traffic_bps: ours.feasible ? ours.cross_traffic_bps : 0,
    conflicts: ours.feasible ? [] : [...ours.conflicts],
    compared: all.map(({ strategy, found }, i) => ({
      strategy,
      cross_traffic_bps: found.feasible ? found.cross_traffic_bps : null,
      chosen: i === 0,
    })),
    merges: ours.feasible ? mergesOf(input, pipeline, nodes, series, ours, rate_bps) : [],
  };
  return { form, quality: ours.feasible ? provisioningQuality(path.id, ours) : null };
}

export function provisioningQuality(subject: string, found: Extract<Provisioning, { feasible: true }>): Quality {
  const value = found.overhead_bits;
  const bound = Math.min(value, found.lower_bound_bits);
  const gap = value > 0 ? 1 - bound / value : 0;
  return {
    part: 'provisioning',
    subject,
    objective: 'bits under way between servers',
    unit: 'bits',
    value,
    bound,
    gap,
    optimal: gap < 1e-9,
    method: found.strategy,
    proof: found.bound_by === 'solver' ? 'HiGHS, instances counted per server' : 'none is below 0',
  };
}

function provisioningProblem(
  { descriptors, infrastructure }: ProvisionInput,
  { definition }: PlannedPipeline,
  nodes: readonly string[],
  series: Series,
  rate_bps: number,
): ProvisioningProblem {
  const catalogue = indexDescriptors(descriptors);
  const bytes = definition.traffic_class.packet_bytes;
  const { servers } = infrastructure;
  const hz = Math.min(...servers.map(({ ghz }) => ghz)) * 1e9;
  const nf = new Map(definition.nodes.flatMap((node) => (node.kind === 'nf' ? [[node.id, node.nf] as const] : [])));
  const nfs = nodes.map((id, i): ProvisionedNf => {
    const descriptor = catalogue.get(nf.get(id)!)!;
    const { cost } = softwareImplementation(descriptor)!;
    const instance_rate_bps = ((CORE_BUDGET * hz) / cyclesPerPacket(cost, bytes)) * 8 * bytes;
    const count = instancesNeeded(rate_bps, instance_rate_bps);
    return {
      id,
      instance_rate_bps,
      cores: (CORE_BUDGET * rate_bps) / (count * instance_rate_bps),
      memory_bytes: cost.memory_bytes,
      max_instances: descriptor.scaling.max_instances,
      enters: i === 0,
      leaves: i === nodes.length - 1,
    };
  });
  return {
    rate_bps,
    nfs,
    edges: spgEdges(series),
    servers: binsOf(infrastructure).map(({ id, cores, memory_bytes, link_bps }) => ({
      id,
      cores: cores * CORE_BUDGET,
      memory_bytes,
      link_bps,
    })),
    delay_us: servers.map(({ id: from }) =>
      servers.map(({ id: to }) => (from === to ? 0 : hopDelay(infrastructure, from, to))),
    ),
  };
}

function countsOf(
  { counts }: Extract<Provisioning, { feasible: true }>,
  nodes: readonly string[],
  servers: Infrastructure['servers'],
): ParallelProvisioning['counts'] {
  return counts.flatMap((row, i) =>
    row.flatMap((instances, k) => (instances > 0 ? [{ node: nodes[i]!, server: servers[k]!.id, instances }] : [])),
  );
}

/** Mirror and merge of each step of the chain, each NF taken to stand where most of its instances are. */
function mergesOf(
  { infrastructure }: ProvisionInput,
  { definition }: PlannedPipeline,
  nodes: readonly string[],
  series: Series,
  { counts }: Extract<Provisioning, { feasible: true }>,
  rate_bps: number,
): ParallelProvisioning['merges'] {
  const packet_bytes = definition.traffic_class.packet_bytes;
  const serverOf = counts.map((row) => row.indexOf(Math.max(...row)));
  /** Servers without any of the chain's NFs only make the way longer. */
  const used = [...new Set(serverOf)];
  const bins = binsOf(infrastructure);
  const servers = used.map((k) => ({ id: bins[k]!.id, link_bps: bins[k]!.link_bps }));
  const at = (nf: number) => used.indexOf(serverOf[nf]!);
  const spot = (step: Series[number] | undefined, end: 'first' | 'last'): Spot => {
    const nfs = step ? nfsOf([step]) : [];
    return nfs.length === 0 ? 'switch' : at(end === 'first' ? nfs[0]! : nfs.at(-1)!);
  };
  const mirrors = infrastructure.switches.some(({ actions }) => actions.includes('mirror'));
  return series.flatMap((step, i) => {
    if (step.kind === 'nf') return [];
    const { chosen, rejected } = placeMirrorAndMerge({
      servers,
      upstream: spot(series[i - 1], 'last'),
      downstream: spot(series[i + 1], 'first'),
      branches: step.branches.map((branch) => nfsOf(branch).map(at)),
      packet_bytes,
      rate_pps: packetRate(rate_bps, packet_bytes),
      switch_mirrors: mirrors,
      switch_merges: false,
    });
    const short = ({ title, link_bytes, switch_traversals, because }: (typeof rejected)[number]) => ({
      title,
      link_bytes,
      switch_traversals,
      because,
    });
    return [
      {
        step: spgText([step], nodes),
        chosen: chosen?.title ?? null,
        link_bytes: chosen?.link_bytes ?? 0,
        switch_traversals: chosen?.switch_traversals ?? 0,
        rejected: rejected.slice(0, 5).map(short),
      },
    ];
  });
}
