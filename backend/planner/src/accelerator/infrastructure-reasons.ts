import {
  type BoardNode,
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
import { chainsById } from '../check/chains-by-id.js';
import { configuredNf } from '../check/configured-nf.js';
import { graphOf } from '../check/graph.js';
import { boardImplementation } from '../check/implementation.js';
import { pathsOf } from '../check/paths.js';
import { grouped } from '../grouped.js';
import { partOf } from '../igraph/parts.js';
import { pgraphOfChain } from '../igraph/pgraph.js';
import { CORE_BUDGET } from '../igraph/sizing.js';
import type { Bin } from '../placement/problem.js';
import type { Recall } from '../recall.js';
import { leastTimeUs } from '../slo/attainable.js';
import { isFirst, takesNf } from './at-switch.js';
import { boardCostText } from './board-cost-text.js';
import { constraintOf } from './fill-slots.js';
import { chooseInfrastructure, type InfrastructureChoice, type Site } from './infrastructure-choice.js';
import type { Shortage } from './problem.js';
import { boardHosts, carriedRateBps } from './slot-rate.js';

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
  assigned: Assigned,
  recall: Recall,
): Plan['reasons'] {
  return input.chains.flatMap((chain) => {
    const pgraph = pgraphOfChain(input.pgraph, chain);
    const graph = partOf(input.graph, chain.chain_id);
    const decided = pgraph.nodes.map(({ id }) => [assigned.implementations.get(id), assigned.because.get(id)]);
    const from = [recall.nameOf(chain), recall.nameOf(pgraph), recall.nameOf(graph), decided];
    return recall.of('infrastructure', from, () => chainReasons({ ...input, pgraph, graph }, assigned));
  });
}

/** As `infrastructureReasons`, of the NFs in the policy graph of one chain. */
function chainReasons(
  input: InfrastructureInput & Pick<Plan, 'graph'>,
  { implementations, because }: Assigned,
): Plan['reasons'] {
  const catalogue = indexDescriptors(input.descriptors);
  const instances = grouped(nfInstances(input.graph), ({ pgraph_node }) => pgraph_node);
  return input.pgraph.nodes.flatMap((node) => {
    const chain = chainsById(input.chains).get(node.chain_id)!;
    const descriptor = configuredNf(catalogue.get(node.nf)!, chain.definition, node.node_id);
    const { question, choice, bound_us, others_us } = choiceFor(input, node, descriptor);
    const kind = choice.chosen && descriptor.implementations[choice.chosen.implementation]!.kind;
    const why = because.get(node.id);
    if (descriptor.implementations.length === 1 && kind === 'software' && !why) return [];
    const reason = reasonOf(node.id, question, choice, kind, { bound_us, others_us });
    const own = instances.get(node.id) ?? [];
    const implementation = implementationOf(implementations, node.id, descriptor);
    const split = choice.chosen ? null : splitOver(own, reason);
    const taken = takenBy(implementation, own, kind);
    const told = split ?? { ...reason, ...(taken ? choosing(reason, taken) : {}) };
    const offer = slotOffer(input, chain, node, descriptor, implementation, question, choice);
    const text = [why ?? told.because, ...(offer ? [boardCostText(descriptor, offer)] : [])].join(' ');
    return [{ ...told, because: text }];
  });
}

/** The slot that the plan takes for an NF, else one that it could; `null` without a board for it. */
function slotOffer(
  { infrastructure, bins }: InfrastructureInput,
  chain: PlannedChain,
  { node_id }: Plan['pgraph']['nodes'][number],
  descriptor: NfDescriptor,
  implementation: AssignedImplementation,
  { packet_bytes, implementations }: Question,
  { candidates }: InfrastructureChoice,
) {
  const place = implementation.driver === 'board' ? implementation.board : null;
  const { boards } = infrastructure;
  const offered = (board: BoardNode) => takesNf(board, chain, node_id, descriptor);
  const board = place ? boards.find(({ id }) => id === place.board) : boards.find(offered);
  if (!board || !boardImplementation(descriptor)) return null;
  return {
    name: place ? `${board.id} slot ${place.slot}` : `A slot of ${board.id}`,
    board,
    packet_bytes,
    hosts: boardHosts(bins, infrastructure),
    software_meets: candidates.some((it) => it.feasible && implementations[it.implementation]!.kind === 'software'),
    taken: place !== null,
    first: isFirst(graphOf(chain.definition), node_id),
  };
}

/** The reason where several servers together carry what none carries alone; `null` where they lack more than throughput. */
function splitOver(instances: readonly Instance[], reason: Plan['reasons'][number]): Plan['reasons'][number] | null {
  const servers = [...new Set(instances.map(({ server }) => server))];
  if (servers.length < 2) return null;
  const chosen = new Set(instances.map(({ driver, server }) => `${kindOf(driver)} on ${server}`));
  const parts = reason.candidates.filter(({ name }) => chosen.has(name));
  if (
    parts.length < chosen.size ||
    parts.some(({ constraint }) => constraint && constraint.constraint !== 'throughput')
  )
    return null;
  return {
    ...reason,
    decision: `${kindOf(instances[0]!.driver)} on ${servers.join(', ')}`,
    because: `No server carries all of its traffic alone; its ${instances.length} instances on ${servers.length} servers share it.`,
    candidates: reason.candidates.map((it) =>
      chosen.has(it.name) ? { ...it, chosen: true, feasible: true, constraint: null } : it,
    ),
    constraint: null,
  };
}

function kindOf(driver: Instance['driver']): Implementation['kind'] {
  return driver === 'container' || driver === 'board' ? driver : 'software';
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
export function choiceFor(input: InfrastructureInput, node: Plan['pgraph']['nodes'][number], described: NfDescriptor) {
  const chain = chainsById(input.chains).get(node.chain_id)!;
  const { definition } = chain;
  const descriptor = configuredNf(described, definition, node.node_id);
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
    sites: sitesOf(input, chain, node.node_id, descriptor, names),
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
  chain: PlannedChain,
  nodeId: string,
  descriptor: NfDescriptor,
  dimensions: readonly string[],
): Site[] {
  const { scaling } = descriptor;
  const packetBytes = chain.definition.traffic_class.packet_bytes;
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
  const hosts = boardHosts(bins, infrastructure);
  const boards = infrastructure.boards.map((board): Site => {
    const { id, clock_mhz, resources } = board;
    return {
      id,
      kinds: ['board'],
      functions: takesNf(board, chain, nodeId, descriptor) ? [0] : [],
      hz: clock_mhz * 1e6,
      cores_free: 1,
      memory_free_bytes: Number.MAX_SAFE_INTEGER,
      throughput_free_bps: carriedRateBps(packetBytes, board, hosts),
      capacity_free: dimensions.map((name) => resources[name] ?? 0),
    };
  });
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
