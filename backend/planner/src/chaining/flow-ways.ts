import type { ChainingStrategy, ClassForecast, Plan, PlannedPipeline, Quality } from '@orrery/contract';
import { CORE_BUDGET, cyclesPerPacket } from '../igraph/sizing.js';
import { indexDescriptors } from '../pipeline/attributes.js';
import { softwareImplementation } from '../pipeline/implementation.js';
import type { Path } from '../pipeline/paths.js';
import { hopDelay } from '../slo/latency.js';
import { coreKey, coreUse, type PlacedInput } from '../slo/placed.js';
import { type ChainAnswer, chain } from './chain.js';
import { prepareNetwork } from './network.js';
import type { ChainInstance, ChainNetwork } from './problem.js';

/** What a flow is taken to need where nothing says so. */
const FLOW_BPS = 1_000_000;
/** Where no objective bounds the latency. */
const NO_BOUND_US = 1e9;

export interface FlowWay {
  readonly way: ClassForecast['way'];
  readonly quality: Quality | null;
  readonly reason: Plan['reasons'][number] | null;
}

/** The way of a flow of the class over the instances that are placed (HYPER IV-B). */
export function flowWay(
  input: PlacedInput,
  pipeline: PlannedPipeline,
  path: Path,
  { strategy, seed }: { readonly strategy: ChainingStrategy; readonly seed: number },
): FlowWay {
  if (path.nodes.length === 0) return { way: null, quality: null, reason: null };
  const { instances, network } = networkOf(input, pipeline, path);
  const bounds = pipeline.definition.slos.flatMap((slo) => (slo.kind === 'latency' ? [slo.max_us] : []));
  const { rate_bps } = pipeline.definition.traffic_class;
  const outside = network.nodes.length - 1;
  const answer = chain(
    prepareNetwork(network),
    {
      functions: path.nodes.map((_, stage) => stage),
      ingress: outside,
      egress: outside,
      throughput_bps: Math.max(1, Math.min(FLOW_BPS, rate_bps)),
      latency_us: Math.min(NO_BOUND_US, ...bounds),
    },
    { strategy, seed },
  );
  if (answer.latency_us === null) return { way: null, quality: null, reason: null };
  const latency_us = answer.latency_us;
  const bound_us = answer.lower_bound_us ?? 0;
  const meets = bounds.length === 0 ? null : latency_us <= answer.bound_us;
  const names = answer.path.map((candidate) => instances[candidate]!.id);
  const gap = latency_us > 0 ? Math.max(0, 1 - bound_us / latency_us) : 0;
  return {
    way: { instances: names, latency_us, bound_us, meets },
    quality: {
      part: 'chaining',
      subject: path.id,
      objective: 'latency of a flow',
      unit: 'us',
      value: latency_us,
      bound: bound_us,
      gap,
      optimal: gap < 1e-9,
      method: strategy,
      proof: answer.proof,
    },
    reason: reasonOf(path, instances, names, answer),
  };
}

/** Servers with instances of the path, and one node outside at which traffic enters and leaves; each NF of the path is a function of its own. */
function networkOf(input: PlacedInput, pipeline: PlannedPipeline, path: Path) {
  const catalogue = indexDescriptors(input.descriptors);
  const busy = coreUse(input.instances);
  const bytes = pipeline.definition.traffic_class.packet_bytes;
  const own = input.instances.filter(
    ({ pipeline_id, node_id }) => pipeline_id === pipeline.pipeline_id && path.nodes.includes(node_id),
  );
  const used = new Set(own.map(({ server }) => server));
  const servers = input.infrastructure.servers.filter(({ id }) => used.has(id));
  const instances = own.map((it): ChainInstance => {
    const node = servers.findIndex(({ id }) => id === it.server);
    const { cost } = softwareImplementation(catalogue.get(it.nf)!)!;
    const use = busy.get(coreKey(it))!;
    const service_us = cyclesPerPacket(cost, bytes) / (servers[node]!.ghz * 1e3);
    const spare = it.core_share > 0 ? (Math.max(0, CORE_BUDGET - use) * it.load_bps) / it.core_share : FLOW_BPS;
    return {
      id: it.id,
      function: path.nodes.indexOf(it.node_id),
      node,
      latency_us: cost.base_latency_us + service_us / (1 - Math.min(0.999, use)),
      throughput_free_bps: it.load_bps + spare,
      capacity_per_chain: 0,
      capacity_per_bps: 0,
    };
  });
  const nodes = [...servers.map(({ id }) => id), 'outside'].map((id) => ({
    id,
    capacity_free: 0,
    capacity_unit: 'cores',
  }));
  const transit_us = nodes.map(({ id: from }, a) =>
    nodes.map(({ id: to }, b) =>
      a === b || a === servers.length || b === servers.length ? 0 : hopDelay(input.infrastructure, from, to),
    ),
  );
  const network: ChainNetwork = { functions: [...path.nodes], nodes, instances, options: [], transit_us };
  return { instances, network };
}

/** Only where there was something to choose. */
function reasonOf(
  path: Path,
  instances: readonly ChainInstance[],
  names: readonly string[],
  answer: ChainAnswer,
): FlowWay['reason'] {
  if (instances.length === path.nodes.length) return null;
  const candidates = answer.stages.flatMap(({ candidate, processing_us, rejected }) => [
    {
      name: instances[candidate]!.id,
      chosen: true,
      feasible: true,
      figure: processing_us,
      unit: 'us',
      constraint: null,
    },
    ...rejected.map((it) => ({
      name: instances[it.candidate]!.id,
      chosen: false,
      feasible: it.constraint.constraint === 'latency',
      figure: instances[it.candidate]!.latency_us,
      unit: 'us',
      constraint: it.constraint,
    })),
  ]);
  return {
    part: 'chaining',
    subject: path.id,
    decision: names.join(', '),
    because: `The way of a flow that meets no queue but those of its cores takes ${Number(answer.latency_us!.toPrecision(3))} us.`,
    candidates,
    constraint: null,
  };
}
