import type {
  Calibration,
  Infrastructure,
  NfDescriptor,
  ParallelProvisioning,
  PlannedChain,
  Quality,
} from '@orrery/contract';
import type { Budget } from '../budget.js';
import { type AssignedImplementations, costOfWork } from '../check/assigned-implementation.js';
import { indexDescriptors } from '../check/attributes.js';
import { slowestGhz } from '../check/clock.js';
import { configuredNf } from '../check/configured-nf.js';
import { descriptorsByNode } from '../check/graph.js';
import type { Path } from '../check/paths.js';
import { pgraphNodeId } from '../igraph/pgraph.js';
import { CORE_BUDGET, cyclesPerPacket, packetRate } from '../igraph/sizing.js';
import { type Bin, binsOf } from '../placement/problem.js';
import { hopDelay } from '../slo/latency.js';
import { nfsOf, type Series, spgText } from './construction/series.js';
import { sendsOriginal } from './merging/branches.js';
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
const FEWEST_SERVERS = 4;
const COMPARED: readonly ProvisionStrategy[] = ['annealing', 'greedy', 'linear', 'random'];

interface ProvisionInput {
  readonly descriptors: readonly NfDescriptor[];
  readonly infrastructure: Infrastructure;
  readonly calibration?: Calibration;
  readonly implementations: AssignedImplementations;
  readonly seed: number;
}

interface FormInput extends ProvisionInput {
  /** A switch copies packets for mirrors. */
  readonly switch_mirrors: boolean;
}

/** A series-parallel graph of a chain's NFs that is to get instances. */
interface ProvisionedGraph {
  readonly chain: PlannedChain;
  readonly path: Path;
  readonly series: Series;
  readonly rate_bps: number;
}

/** The graph's provisioning problem on the largest servers, empty; `null` where there are none, or nothing to carry. */
export function provisioningOf(input: ProvisionInput, graph: ProvisionedGraph): ProvisioningProblem | null {
  if (input.infrastructure.servers.length === 0 || graph.rate_bps <= 0) return null;
  return provisioningProblem(input, graph.chain, graph.path.nodes, graph.series, graph.rate_bps);
}

/** Our own answer to the problem, without the solver. */
export function provisionedBy(
  problem: ProvisioningProblem,
  strategy: ProvisionStrategy,
  seed: number,
  { expired }: Pick<Budget, 'expired'> = {},
): Provisioning {
  return provision(problem, { strategy, seed, budget: { steps: STEPS, expired } });
}

/** Instances of a graph over the servers, as if these were empty, and how near they are to the least traffic. */
export function provisionForm(
  input: FormInput,
  graph: ProvisionedGraph,
): { form: ParallelProvisioning; quality: Quality | null } | null {
  const problem = provisioningOf(input, graph);
  if (!problem) return null;
  const { nodes } = graph.path;
  const { servers } = problem;
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
    merges: ours.feasible ? mergesOf(input, graph, servers, ours) : [],
  };
  return { form, quality: ours.feasible ? provisioningQuality(graph.path.id, ours) : null };
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
  { descriptors, infrastructure, calibration, implementations }: ProvisionInput,
  { definition }: PlannedChain,
  nodes: readonly string[],
  series: Series,
  rate_bps: number,
): ProvisioningProblem {
  const catalogue = indexDescriptors(descriptors);
  const bytes = definition.traffic_class.packet_bytes;
  const hz = slowestGhz(infrastructure) * 1e9;
  const nf = descriptorsByNode(definition);
  const nfs = nodes.map((id, i): ProvisionedNf => {
    const descriptor = configuredNf(catalogue.get(nf.get(id)!)!, definition, id);
    const cost = costOfWork(implementations, pgraphNodeId(definition.name, id), descriptor);
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
  const counts = nfs.map(({ instance_rate_bps }) => instancesNeeded(rate_bps, instance_rate_bps));
  const largest = largestServers(binsOf(infrastructure), {
    cores: nfs.reduce((sum, { cores }, i) => sum + cores * counts[i]!, 0),
    memory_bytes: nfs.reduce((sum, it, i) => sum + it.memory_bytes * counts[i]!, 0),
  });
  return {
    rate_bps,
    nfs,
    edges: spgEdges(series),
    servers: largest.map(({ id, cores, memory_bytes, link_bps }) => ({
      id,
      cores: cores * CORE_BUDGET,
      memory_bytes,
      link_bps,
    })),
    delay_us: largest.map(({ id: from }) =>
      largest.map(({ id: to }) => (from === to ? 0 : hopDelay(infrastructure, from, to, calibration))),
    ),
  };
}

/** As many of the largest servers as have twice the room that is needed, and a few at least: more gain nothing. */
function largestServers(bins: readonly Bin[], needed: { cores: number; memory_bytes: number }): Bin[] {
  const chosen: Bin[] = [];
  let [cores, memory] = [0, 0];
  for (const bin of bins.toSorted((a, b) => b.cores * b.hz - a.cores * a.hz)) {
    const roomy = cores >= 2 * needed.cores && memory >= 2 * needed.memory_bytes && chosen.length >= FEWEST_SERVERS;
    if (roomy || chosen.length === Math.min(MAX_SERVERS, MAX_MERGE_SERVERS)) break;
    chosen.push(bin);
    cores += bin.cores * CORE_BUDGET;
    memory += bin.memory_bytes;
  }
  return chosen;
}

function countsOf(
  { counts }: Extract<Provisioning, { feasible: true }>,
  nodes: readonly string[],
  servers: ProvisioningProblem['servers'],
): ParallelProvisioning['counts'] {
  return counts.flatMap((row, i) =>
    row.flatMap((instances, k) => (instances > 0 ? [{ node: nodes[i]!, server: servers[k]!.id, instances }] : [])),
  );
}

/** Mirror and merge of each step of the chain, each NF taken to stand where most of its instances are. */
function mergesOf(
  { descriptors, switch_mirrors }: FormInput,
  { chain, path, series, rate_bps }: ProvisionedGraph,
  all: ProvisioningProblem['servers'],
  { counts }: Extract<Provisioning, { feasible: true }>,
): ParallelProvisioning['merges'] {
  const { packet_bytes } = chain.definition.traffic_class;
  const serverOf = counts.map((row) => row.indexOf(Math.max(...row)));
  /** Servers without any of the chain's NFs only make the way longer. */
  const used = [...new Set(serverOf)];
  const servers = used.map((k) => all[k]!);
  const at = (nf: number) => used.indexOf(serverOf[nf]!);
  const spot = (step: Series[number] | undefined, end: 'first' | 'last'): Spot => {
    const nfs = step ? nfsOf([step]) : [];
    return nfs.length === 0 ? 'switch' : at(end === 'first' ? nfs[0]! : nfs.at(-1)!);
  };
  const catalogue = indexDescriptors(descriptors);
  const kinds = descriptorsByNode(chain.definition);
  const profileOf = (nf: number) => catalogue.get(kinds.get(path.nodes[nf]!)!)!;
  return series.flatMap((step, i) => {
    if (step.kind === 'nf') return [];
    const { chosen, rejected } = placeMirrorAndMerge({
      servers,
      upstream: spot(series[i - 1], 'last'),
      downstream: spot(series[i + 1], 'first'),
      branches: step.branches.map((branch) => nfsOf(branch).map(at)),
      sends_original: sendsOriginal(step.branches.map((branch) => nfsOf(branch).map(profileOf))),
      packet_bytes,
      rate_pps: packetRate(rate_bps, packet_bytes),
      switch_mirrors,
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
        step: spgText([step], path.nodes),
        chosen: chosen?.title ?? null,
        link_bytes: chosen?.link_bytes ?? 0,
        switch_traversals: chosen?.switch_traversals ?? 0,
        rejected: rejected.slice(0, 5).map(short),
      },
    ];
  });
}
