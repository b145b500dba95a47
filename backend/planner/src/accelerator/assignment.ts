import { type NfDescriptor, nfInstances, type Plan } from '@orrery/contract';
import { type Budget, requireTime } from '../budget.js';
import type { AssignedImplementation, AssignedImplementations } from '../check/assigned-implementation.js';
import { chainsById } from '../check/chains-by-id.js';
import { boardImplementation } from '../check/implementation.js';
import { binsOf } from '../placement/problem.js';
import { takesNf } from './at-switch.js';
import { fillSlots, type SlotDemand } from './fill-slots.js';
import { type AssignmentInput, type ImplementationRequest, requestsOf } from './implementation-requests.js';
import { choiceFor } from './infrastructure-reasons.js';
import { type BoardHosts, boardHosts, offeredRateBps } from './slot-rate.js';
import { freeSlots, isUsable } from './usable-slots.js';

type PGraphNode = Plan['pgraph']['nodes'][number];

export interface Assignment {
  readonly implementations: AssignedImplementations;
  /** Why an NF has its implementation, if not simply by the rule "software if possible". */
  readonly because: ReadonlyMap<string, string>;
  readonly problems: Plan['problems'];
  readonly conflicts: Plan['conflicts'];
}

/**
 * The implementation of each NF, and the slots of those on boards (HYPER Figure 2 and V): requests come first; NFs in
 * containers or on boards stay there while they may; everything else runs in software if it can. Several new NFs in an
 * empty plan are packed together (offline, bin completion); later ones take the tightest fit (online). A slot in use is not
 * free even if its user leaves with this plan, because a module is loaded before traffic is steered to it.
 * Errors: `OutOfTime`.
 */
export function assignImplementations(
  input: AssignmentInput,
  pgraph: Plan['pgraph'],
  time: Pick<Budget, 'expired'> = {},
): Assignment {
  const requests = requestsOf(input, pgraph, time);
  const implementations = new Map<string, AssignedImplementation>();
  const because = new Map<string, string>();
  const demands: SlotDemand[] = [];
  const hosts = boardHosts(binsOf(input.infrastructure), input.infrastructure);
  const boards = new Map(input.infrastructure.boards.map((board) => [board.id, board]));
  for (const { node, descriptor, request } of requests.list) {
    requireTime(time);
    if (request.because) because.set(node.id, request.because);
    if (request.implementation) implementations.set(node.id, request.implementation);
    else demands.push(demandOf(input, pgraph, node, descriptor, request, hosts));
  }
  const filled = fillSlots(demands, freeSlots(input), { offline: input.base === null, ...time });
  const demanded = new Map(demands.map((demand) => [demand.node, demand]));
  for (const [node, { board, slot }] of filled.slots) {
    const { load, policy } = demanded.get(node)!;
    const attached = boards.get(board)!.attached === 'switch' ? ({ attached: 'switch' } as const) : {};
    implementations.set(node, { driver: 'board', board: { board, slot, load, policy, ...attached } });
  }
  return { implementations, because, problems: requests.problems, conflicts: [...filled.conflicts] };
}

function demandOf(
  input: AssignmentInput,
  pgraph: Plan['pgraph'],
  node: PGraphNode,
  descriptor: NfDescriptor,
  { slot, load, policy }: Extract<ImplementationRequest, { implementation: null }>,
  hosts: BoardHosts,
): SlotDemand {
  const module = boardImplementation(descriptor)!;
  const chain = chainsById(input.chains).get(node.chain_id)!;
  const { definition } = chain;
  const { bound_us, others_us } = choiceFor({ ...input, bins: binsOf(input.infrastructure), pgraph }, node, descriptor);
  return {
    node: node.id,
    nf: node.nf,
    need: module.resources,
    throughput_bps: node.load_bps,
    rateOn: (board) => offeredRateBps(module, definition.traffic_class.packet_bytes, board, hosts),
    runsOn: (board) => takesNf(board, chain, node.node_id, descriptor),
    // A requested implementation is used even if it misses an objective, which the plan then reports.
    latency_us: slot ? Number.MAX_SAFE_INTEGER : Math.max(0, bound_us - others_us),
    slot,
    load,
    policy,
  };
}

/**
 * Instances that nothing waits for: those in slots that do not work any more and that the plan does without, containers on
 * servers that offer none any more, and all on lost servers.
 */
export function abandonedBy(input: AssignmentInput, graph: Plan['graph']): string[] {
  const stay = new Set(nfInstances(graph).map(({ id }) => id));
  const lostServers = new Set(input.lost_servers);
  const drivenBy = new Map(input.infrastructure.boards.map(({ id, server }) => [id, server]));
  // What is only excluded works until its flow state has moved.
  const working = { ...input, without_servers: [], without_boards: [] };
  const gone = nfInstances(input.base?.graph).filter(({ id, driver, server, board }) => {
    const lost = driver === 'container' && !input.container_servers.includes(server);
    const isOnLost = lostServers.has(board ? (drivenBy.get(board.board) ?? server) : server);
    return lost || isOnLost || (board && !isUsable(working, board) && !stay.has(id));
  });
  return gone.map(({ id }) => id);
}
