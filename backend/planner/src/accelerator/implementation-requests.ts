import {
  type BoardPlace,
  type ImplementationChoice,
  type NfDescriptor,
  nfInstances,
  type Plan,
  type SlotRef,
} from '@orrery/contract';
import { type Budget, requireTime } from '../budget.js';
import {
  type AssignedImplementation,
  CONTAINER,
  defaultImplementation,
  implementationsOf,
} from '../check/assigned-implementation.js';
import { indexDescriptors } from '../check/attributes.js';
import { chainsById } from '../check/chains-by-id.js';
import { boardImplementation, containerImplementation, softwareImplementation } from '../check/implementation.js';
import { grouped } from '../grouped.js';
import { binsOf } from '../placement/problem.js';
import type { OfferedInput } from '../plan/offered.js';
import { obstacleAtSwitch } from './at-switch.js';
import { choiceFor } from './infrastructure-reasons.js';
import { isUsable, type SlotInput, usableSlots } from './usable-slots.js';

type PGraphNode = Plan['pgraph']['nodes'][number];
export type AssignmentInput = SlotInput &
  Pick<OfferedInput, 'chains' | 'descriptors' | 'implementations' | 'container_servers'>;

/** The requested implementation of an NF; for a board, a given slot or any. */
export type ImplementationRequest =
  | { readonly implementation: AssignedImplementation; readonly because: string | null }
  | ({ readonly implementation: null; readonly slot: SlotRef | null; readonly because: string | null } & Pick<
      BoardPlace,
      'load' | 'policy'
    >);

interface NodeRequest {
  readonly node: PGraphNode;
  readonly descriptor: NfDescriptor;
  readonly request: ImplementationRequest;
}

/** An implementation that a plan in force gave an NF, and the servers of its instances. */
interface Running {
  readonly implementation: AssignedImplementation;
  readonly servers: readonly string[];
}

const AS_USUAL = { load: 'partial', policy: 'hold' } as const;
const ASKED = 'Requested.';

/** Requests for the NFs with several implementations, and the errors of invalid requests. Errors: `OutOfTime`. */
export function requestsOf(
  input: AssignmentInput,
  pgraph: Plan['pgraph'],
  time: Pick<Budget, 'expired'> = {},
): { list: NodeRequest[]; problems: Plan['problems'] } {
  const catalogue = indexDescriptors(input.descriptors);
  const asked = new Map<string, ImplementationChoice>();
  const problems: Plan['problems'] = [];
  const ofChain = grouped(pgraph.nodes, ({ chain_id }) => chain_id);
  (input.implementations ?? []).forEach((choice, i) => {
    const { chain_id, node_id } = choice;
    const nodes = ofChain.get(chain_id) ?? [];
    const node = nodes.find((it) => it.node_id === node_id);
    const wrong =
      nodes.length === 0
        ? { field: 'chain_id', message: `the plan has no chain ${chain_id}` }
        : node && asked.has(node.id)
          ? { field: 'node_id', message: `${node_id} is named twice` }
          : whatIsWrong(choice, node && catalogue.get(node.nf), input);
    if (node && !wrong) asked.set(node.id, choice);
    if (!wrong) return;
    const pointer = `/implementations/${i}/${wrong.field}`;
    problems.push({ severity: 'error', pointer, code: 'bad-implementation', message: wrong.message, chain_id });
  });
  const running = runningImplementations(input.base);
  const choosable = new Set(input.descriptors.filter(hasChoice));
  const list = pgraph.nodes.flatMap((node) => {
    requireTime(time);
    const descriptor = catalogue.get(node.nf)!;
    const before = running.get(node.id);
    if (!choosable.has(descriptor) && before?.implementation.driver !== 'container') return [];
    return [{ node, descriptor, request: requestOf(input, pgraph, node, descriptor, asked.get(node.id), before) }];
  });
  return { list, problems };
}

function hasChoice(descriptor: NfDescriptor): boolean {
  const kinds = [softwareImplementation, containerImplementation, boardImplementation];
  return kinds.filter((implementation) => implementation(descriptor)).length > 1;
}

function whatIsWrong(
  { chain_id, node_id, on, slot }: ImplementationChoice,
  descriptor: NfDescriptor | undefined,
  { chains, container_servers, infrastructure: { boards } }: AssignmentInput,
): { field: string; message: string } | null {
  if (!descriptor) return { field: 'node_id', message: `the plan has no NF ${node_id}` };
  const { title } = descriptor;
  if (slot && on !== 'board')
    return { field: 'slot', message: `only boards have slots, and ${title} is to run as ${on}` };
  if (on === 'software')
    return softwareImplementation(descriptor)
      ? null
      : { field: 'on', message: `${title} has no implementation in software` };
  if (on === 'container') {
    if (container_servers.length === 0)
      return { field: 'on', message: `no server offers containers, so ${title} cannot run in one` };
    return containerImplementation(descriptor)
      ? null
      : { field: 'on', message: `${title} has no implementation for containers` };
  }
  if (!boardImplementation(descriptor)) return { field: 'on', message: `${title} has no implementation for boards` };
  const board = slot && boards.find(({ id }) => id === slot.board);
  if (slot && !board) return { field: 'slot/board', message: `there is no board ${slot.board}` };
  if (slot && board && slot.slot >= board.slots)
    return { field: 'slot/slot', message: `${board.id} has slots 0 to ${board.slots - 1}` };
  const chain = chainsById(chains).get(chain_id)!;
  const obstacle = board?.attached === 'switch' ? obstacleAtSwitch(chain, node_id, descriptor) : null;
  if (obstacle) return { field: 'slot/board', message: `${board!.id} hangs on a switch: ${obstacle}` };
  return null;
}

function requestOf(
  input: AssignmentInput,
  pgraph: Plan['pgraph'],
  node: PGraphNode,
  descriptor: NfDescriptor,
  asked: ImplementationChoice | undefined,
  running: Running | undefined,
): ImplementationRequest {
  const forbidden = running ? whatForbids(input, node, descriptor, running) : null;
  const stays = running && forbidden === null ? running.implementation : null;
  if (asked) return askedFor(asked, descriptor, stays);
  if (stays) return { implementation: stays, because: 'It already runs there.' };
  if (running) return { implementation: defaultImplementation(descriptor)!, because: forbidden };
  return chosenFor(input, pgraph, node, descriptor);
}

function askedFor(
  asked: ImplementationChoice,
  descriptor: NfDescriptor,
  stays: AssignedImplementation | null,
): ImplementationRequest {
  const { on, slot, load, policy } = asked;
  if (on === 'software') return { implementation: defaultImplementation(descriptor)!, because: ASKED };
  const place = stays?.driver === 'board' ? stays.board : null;
  const elsewhere = slot && place && (slot.board !== place.board || slot.slot !== place.slot);
  if (stays?.driver === on && !elsewhere) return { implementation: stays, because: 'It already runs there.' };
  if (on === 'container') return { implementation: CONTAINER, because: ASKED };
  return { implementation: null, slot: slot ?? null, load, policy, because: ASKED };
}

/** What the decision tree says of an NF that is new, as far as a slot may be used. */
function chosenFor(
  input: AssignmentInput,
  pgraph: Plan['pgraph'],
  node: PGraphNode,
  descriptor: NfDescriptor,
): ImplementationRequest {
  const usual: ImplementationRequest = { implementation: defaultImplementation(descriptor)!, because: null };
  const slots = boardImplementation(descriptor) ? usableSlots(input).length : 0;
  if (slots === 0 && !containerImplementation(descriptor)) return usual;
  const { choice } = choiceFor({ ...input, bins: binsOf(input.infrastructure), pgraph }, node, descriptor);
  const kind = choice.chosen && descriptor.implementations[choice.chosen.implementation]!.kind;
  if (kind === 'container') return { implementation: CONTAINER, because: null };
  return kind === 'board' && slots > 0 ? { implementation: null, slot: null, ...AS_USUAL, because: null } : usual;
}

/** Why an NF cannot keep its implementation; `null` if it can. */
function whatForbids(
  input: AssignmentInput,
  { chain_id, node_id }: PGraphNode,
  descriptor: NfDescriptor,
  { implementation, servers }: Running,
): string | null {
  const { title } = descriptor;
  if (implementation.driver === 'board') {
    const { board, slot, attached = 'server' } = implementation.board;
    if (!boardImplementation(descriptor)) return `${title} no longer has an implementation for boards.`;
    if (!isUsable(input, { board, slot })) return `${board} slot ${slot} cannot be used.`;
    if (input.infrastructure.boards.find(({ id }) => id === board)!.attached !== attached)
      return attached === 'switch' ? `${board} no longer hangs on a switch.` : `${board} hangs on a switch now.`;
    const chain = chainsById(input.chains).get(chain_id)!;
    const obstacle = attached === 'switch' ? obstacleAtSwitch(chain, node_id, descriptor) : null;
    return obstacle && `${board} hangs on a switch: ${obstacle}.`;
  }
  const lost = servers.find((id) => !input.container_servers.includes(id));
  if (lost) return `${lost} no longer offers containers.`;
  return containerImplementation(descriptor) ? null : `${title} no longer has an implementation for containers.`;
}

/** Implementations that stay because they are running: all but software, which is the default. */
function runningImplementations(base: Plan | null): Map<string, Running> {
  const instances = nfInstances(base?.graph).filter(({ driver }) => driver === 'container' || driver === 'board');
  const servers = new Map<string, string[]>();
  for (const { pgraph_node, server } of instances)
    servers.set(pgraph_node, [...(servers.get(pgraph_node) ?? []), server]);
  return new Map(
    [...implementationsOf(instances)].map(([node, implementation]) => [
      node,
      { implementation, servers: servers.get(node)! },
    ]),
  );
}
