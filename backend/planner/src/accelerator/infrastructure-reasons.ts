import {
  type Constraint,
  type Implementation,
  type Infrastructure,
  type Instance,
  type NfDescriptor,
  nfInstances,
  type Plan,
  type PlannedChain,
} from '@orrery/contract';
import {
  type AssignedImplementation,
  type AssignedImplementations,
  implementationOf,
} from '../check/assigned-implementation.js';
import { indexDescriptors } from '../check/attributes.js';
import { pathsOf } from '../check/paths.js';
import { CORE_BUDGET } from '../igraph/sizing.js';
import type { Bin } from '../placement/problem.js';
import { leastTimeUs } from '../slo/attainable.js';
import { constraintOf } from './fill-slots.js';
import { chooseInfrastructure, type InfrastructureChoice, type Site } from './infrastructure-choice.js';
import type { Shortage } from './problem.js';

export interface InfrastructureInput {
  readonly chains: readonly PlannedChain[];
  readonly descriptors: readonly NfDescriptor[];
  readonly infrastructure: Infrastructure;
  readonly container_servers: readonly string[];
  readonly bins: readonly Bin[];
  readonly pgraph: Plan['pgraph'];
}

/** Latency limit if no objective sets one. */
const NO_BOUND_US = 1e9;

/** As what NFs run, and why where more than the decision tree decided; both by node of the PGraph. */
interface Assigned {
  readonly implementations: AssignedImplementations;
  readonly because: ReadonlyMap<string, string>;
}

/**
 * On what each NF runs, software unless it cannot (HYPER Figure 2): for NFs with several implementations, for those
 * whose software cannot meet the objectives of its chain, and for those that had to leave their implementation.
 */
export function infrastructureReasons(
  input: InfrastructureInput & Pick<Plan, 'graph'>,
  { implementations, because }: Assigned,
): Plan['reasons'] {
  const catalogue = indexDescriptors(input.descriptors);
  return input.pgraph.nodes.flatMap((node) => {
    const descriptor = catalogue.get(node.nf)!;
    const { question, choice, bound_us, others_us } = choiceFor(input, node, descriptor);
    const kind = choice.chosen && descriptor.implementations[choice.chosen.implementation]!.kind;
    const why = because.get(node.id);
    if (descriptor.implementations.length === 1 && kind === 'software' && !why) return [];
    const reason = reasonOf(node.id, question, choice, kind, { bound_us, others_us });
    const own = nfInstances(input.graph).filter(({ pgraph_node }) => pgraph_node === node.id);
    const taken = takenBy(implementationOf(implementations, node.id, descriptor), own, kind);
    return [{ ...reason, ...(taken ? choosing(reason, taken) : {}), because: why ?? reason.because }];
  });
}

interface Taken {
  readonly decision: string;
  /** Names of candidates. */
  readonly chosen: readonly string[];
}

/** What the plan took where that is not, or says more than, the decision tree's `kind`; `null` where it is just that. */
function takenBy(
  implementation: AssignedImplementation,
  instances: readonly Instance[],
  kind: Implementation['kind'] | null,
): Taken | null {
  if (implementation.driver === 'board') {
    const { board, slot } = implementation.board;
    return { decision: `board on ${board} slot ${slot}`, chosen: [`board on ${board}`] };
  }
  const servers = [...new Set(instances.map(({ server }) => server))];
  const how = implementation.driver === 'container' ? 'container' : 'software';
  if (how === 'software' && kind === null) return null;
  const chosen = servers.map((id) => `${how} on ${id}`);
  return { decision: servers.length > 0 ? `${how} on ${servers.join(', ')}` : how, chosen };
}

function choosing({ candidates }: Plan['reasons'][number], { decision, chosen }: Taken) {
  return { decision, candidates: candidates.map((it) => ({ ...it, chosen: chosen.includes(it.name) })) };
}

type Question = Parameters<typeof chooseInfrastructure>[0];

/** What the decision tree says of an NF, with the latency objective and what the rest of its chain takes of it. */
export function choiceFor(input: InfrastructureInput, node: Plan['pgraph']['nodes'][number], descriptor: NfDescriptor) {
  const { definition } = input.chains.find(({ chain_id }) => chain_id === node.chain_id)!;
  const { boards } = input.infrastructure;
  const names = [...new Set(boards.flatMap(({ resources }) => Object.keys(resources)))];
  const { bound_us, others_us } = latencyLeft(input, definition, node.node_id);
  const question: Question = {
    functions: [node.nf],
    dimensions: names.map((name) => ({ name, unit: name })),
    function: 0,
    implementations: descriptor.implementations.map(({ kind, cost, resources }) => ({
      kind,
      cost,
      need: names.map((name) => resources[name] ?? 0),
    })),
    sites: sitesOf(input, descriptor, names),
    throughput_bps: Math.max(1, node.load_bps),
    packet_bytes: definition.traffic_class.packet_bytes,
    latency_us: Math.max(0, bound_us - others_us),
  };
  return { question, choice: chooseInfrastructure(question), bound_us, others_us };
}

/** The tightest objective, and the minimum that the other NFs use of it on the slowest path through the NF. */
function latencyLeft(
  input: InfrastructureInput,
  definition: PlannedChain['definition'],
  nodeId: string,
): { bound_us: number; others_us: number } {
  const bound_us = Math.min(
    NO_BOUND_US,
    ...definition.slos.flatMap((slo) => (slo.kind === 'latency' ? [slo.max_us] : [])),
  );
  const ways = (pathsOf(definition) ?? []).filter(({ nodes }) => nodes.includes(nodeId));
  const others = ways.map(({ nodes }) =>
    leastTimeUs(
      input,
      definition,
      nodes.filter((id) => id !== nodeId),
    ),
  );
  return { bound_us, others_us: Math.max(0, ...others) };
}

function sitesOf(
  { infrastructure, container_servers, bins }: InfrastructureInput,
  { scaling }: NfDescriptor,
  dimensions: readonly string[],
): Site[] {
  const servers = infrastructure.servers.map(
    ({ id, ghz, cores, memory_bytes }, i): Site => ({
      id,
      kinds: container_servers.includes(id) ? ['software', 'container'] : ['software'],
      functions: [0],
      hz: ghz * 1e9,
      cores_free: CORE_BUDGET * Math.min(cores, scaling.max_instances),
      memory_free_bytes: memory_bytes,
      throughput_free_bps: bins[i]!.link_bps,
      capacity_free: dimensions.map(() => 0),
    }),
  );
  const boards = infrastructure.boards.map(
    ({ id, clock_mhz, bandwidth_bps, resources }): Site => ({
      id,
      kinds: ['board'],
      functions: [0],
      hz: clock_mhz * 1e6,
      cores_free: 1,
      memory_free_bytes: Number.MAX_SAFE_INTEGER,
      throughput_free_bps: bandwidth_bps,
      capacity_free: dimensions.map((name) => resources[name] ?? 0),
    }),
  );
  return [...servers, ...boards];
}

function reasonOf(
  subject: string,
  { implementations, sites }: Question,
  { chosen, candidates, because, conflicts }: InfrastructureChoice,
  kind: Question['implementations'][number]['kind'] | null,
  { bound_us, others_us }: { readonly bound_us: number; readonly others_us: number },
): Plan['reasons'][number] {
  /** The whole path compared with the whole objective, as set. */
  const whole = (it: Shortage): Constraint => {
    const constraint = constraintOf(it);
    if (constraint.constraint !== 'latency') return constraint;
    return { ...constraint, needed: constraint.needed + others_us, available: bound_us };
  };
  return {
    part: 'infrastructure',
    subject,
    decision: chosen ? `${kind} on ${sites[chosen.site]!.id}` : 'nothing meets every requirement',
    because,
    candidates: candidates.map((it) => ({
      name: `${implementations[it.implementation]!.kind} on ${sites[it.site]!.id}`,
      chosen: it.chosen,
      feasible: it.feasible,
      figure: it.latency_us,
      unit: 'us',
      constraint: it.constraint && whole(it.constraint),
    })),
    constraint: conflicts[0] ? whole(conflicts[0]) : null,
  };
}
