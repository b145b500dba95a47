import type { BoardPlace, Constraint, ImplementationChoice, NfDescriptor, Plan, SlotRef } from '@orrery/contract';
import { indexDescriptors } from '../pipeline/attributes.js';
import { type BoardPlaces, boardImplementation } from '../pipeline/implementation.js';
import { binsOf } from '../placement/problem.js';
import type { PlanInput } from '../plan/input.js';
import { type FreeSlot, fillSlots, type SlotDemand } from './fill-slots.js';
import { choiceFor } from './infrastructure-reasons.js';

type PGraphNode = Plan['pgraph']['nodes'][number];
type Input = Pick<
  PlanInput,
  'pipelines' | 'descriptors' | 'infrastructure' | 'base' | 'implementations' | 'reserved_slots' | 'without_slots'
>;

export interface Assignment {
  readonly places: BoardPlaces;
  /** Why an NF runs where it runs, where more than "software unless it cannot" decided. */
  readonly because: ReadonlyMap<string, string>;
  readonly problems: Plan['problems'];
  readonly conflicts: Plan['conflicts'];
}

const AS_USUAL = { load: 'partial', policy: 'hold' } as const;

/**
 * Which NFs boards run, and in which slots (HYPER Figure 2 and V): what was asked for; what runs on a board stays there
 * while the board may be used; everything else is software unless it cannot. Several new NFs in an empty plan are packed
 * together (offline, bin completion), later ones go where they fit most closely (online). A slot that is still in use by
 * what runs is not free, even if its user leaves with this plan: a module is loaded before traffic is led to it.
 */
export function assignBoards(input: Input, pgraph: Plan['pgraph']): Assignment {
  const wishes = wishesOf(input, pgraph);
  const places = new Map<string, BoardPlace>();
  const because = new Map<string, string>();
  const demands: SlotDemand[] = [];
  for (const { node, descriptor, wish } of wishes.list) {
    if (wish.kind === 'stays') places.set(node.id, wish.place);
    if (wish.because) because.set(node.id, wish.because);
    if (wish.kind === 'board') demands.push(demandOf(input, pgraph, node, descriptor, wish));
  }
  const filled = fillSlots(demands, freeSlots(input), { offline: input.base === null });
  for (const [node, { board, slot }] of filled.slots) {
    const { load, policy } = demands.find((demand) => demand.node === node)!;
    places.set(node, { board, slot, load, policy });
  }
  return { places, because, problems: wishes.problems, conflicts: [...filled.conflicts] };
}

type Wish =
  | { readonly kind: 'software'; readonly because: string | null }
  | { readonly kind: 'stays'; readonly place: BoardPlace; readonly because: string }
  | ({ readonly kind: 'board'; readonly slot: SlotRef | null; readonly because: string | null } & Pick<
      BoardPlace,
      'load' | 'policy'
    >);

interface NodeWish {
  readonly node: PGraphNode;
  readonly descriptor: NfDescriptor;
  readonly wish: Wish;
}

function wishesOf(input: Input, pgraph: Plan['pgraph']): { list: NodeWish[]; problems: Plan['problems'] } {
  const catalogue = indexDescriptors(input.descriptors);
  const asked = new Map<string, ImplementationChoice>();
  const problems: Plan['problems'] = [];
  (input.implementations ?? []).forEach((choice, i) => {
    const { pipeline_id, node_id } = choice;
    const node = pgraph.nodes.find((it) => it.pipeline_id === pipeline_id && it.node_id === node_id);
    const wrong = whatIsWrong(choice, node && catalogue.get(node.nf), input.infrastructure);
    if (node && !wrong) asked.set(node.id, choice);
    if (!wrong) return;
    const pointer = `/implementations/${i}/${wrong.field}`;
    problems.push({ severity: 'error', pointer, code: 'bad-implementation', message: wrong.message, pipeline_id });
  });
  const running = runningOnBoards(input.base);
  const list = pgraph.nodes.flatMap((node) => {
    const descriptor = catalogue.get(node.nf)!;
    if (!boardImplementation(descriptor)) return [];
    const wish = wishOf(input, pgraph, node, descriptor, asked.get(node.id), running.get(node.id));
    return [{ node, descriptor, wish }];
  });
  return { list, problems };
}

function whatIsWrong(
  { node_id, on, slot }: ImplementationChoice,
  descriptor: NfDescriptor | undefined,
  { boards }: Input['infrastructure'],
): { field: string; message: string } | null {
  if (!descriptor) return { field: 'node_id', message: `no NF ${node_id} in what is planned` };
  if (on === 'software') return null;
  if (!boardImplementation(descriptor))
    return { field: 'on', message: `${descriptor.title} has no implementation for boards` };
  const board = slot && boards.find(({ id }) => id === slot.board);
  if (slot && !board) return { field: 'slot/board', message: `there is no board ${slot.board}` };
  if (slot && board && slot.slot >= board.slots)
    return { field: 'slot/slot', message: `${board.id} has slots 0 to ${board.slots - 1}` };
  return null;
}

function wishOf(
  input: Input,
  pgraph: Plan['pgraph'],
  node: PGraphNode,
  descriptor: NfDescriptor,
  asked: ImplementationChoice | undefined,
  running: BoardPlace | undefined,
): Wish {
  const usable =
    running && usableSlots(input).some(({ board, slot }) => board.id === running.board && slot === running.slot);
  if (asked?.on === 'software') return { kind: 'software', because: 'It was asked for.' };
  if (asked) {
    const here = !asked.slot || (asked.slot.board === running?.board && asked.slot.slot === running.slot);
    if (running && usable && here) return { kind: 'stays', place: running, because: 'It runs there already.' };
    const { slot = null, load, policy } = asked;
    return { kind: 'board', slot, load, policy, because: 'It was asked for.' };
  }
  if (running && usable) return { kind: 'stays', place: running, because: 'It runs there and stays.' };
  if (running) return { kind: 'software', because: `${running.board} slot ${running.slot} cannot be used.` };
  if (usableSlots(input).length === 0) return { kind: 'software', because: null };
  const bins = binsOf(input.infrastructure);
  const { choice } = choiceFor({ ...input, bins, pgraph }, node, descriptor);
  const kind = choice.chosen && descriptor.implementations[choice.chosen.implementation]!.kind;
  return kind === 'board' ? { kind, slot: null, ...AS_USUAL, because: null } : { kind: 'software', because: null };
}

function runningOnBoards(base: Plan | null): Map<string, BoardPlace> {
  return new Map(base?.instances.flatMap(({ pgraph_node, board }) => (board ? [[pgraph_node, board] as const] : [])));
}

function usableSlots({ infrastructure, without_slots = [] }: Input) {
  const servers = new Set(infrastructure.servers.map(({ id }) => id));
  const broken = new Set(without_slots.map(slotKey));
  return infrastructure.boards
    .filter(({ server }) => servers.has(server))
    .flatMap((board) => Array.from({ length: board.slots }, (_, slot) => ({ board, slot })))
    .filter(({ board, slot }) => !broken.has(slotKey({ board: board.id, slot })));
}

function freeSlots(input: Input): FreeSlot[] {
  const taken = new Set(input.base?.instances.flatMap(({ board }) => (board ? [slotKey(board)] : [])));
  const reserved = new Set((input.reserved_slots ?? []).map(slotKey));
  return usableSlots(input).map(({ board, slot }) => {
    const key = slotKey({ board: board.id, slot });
    return { board, slot, taken: taken.has(key), reserved: reserved.has(key) };
  });
}

function slotKey({ board, slot }: SlotRef): string {
  return `${board}/${slot}`;
}

function demandOf(
  input: Input,
  pgraph: Plan['pgraph'],
  node: PGraphNode,
  descriptor: NfDescriptor,
  { slot, load, policy }: Extract<Wish, { kind: 'board' }>,
): SlotDemand {
  const { bound_us, others_us } = choiceFor({ ...input, bins: binsOf(input.infrastructure), pgraph }, node, descriptor);
  return {
    node: node.id,
    nf: node.nf,
    need: boardImplementation(descriptor)!.resources,
    throughput_bps: node.load_bps,
    // What was asked for is done even where it misses an objective, which the plan then says.
    latency_us: slot ? Number.MAX_SAFE_INTEGER : Math.max(0, bound_us - others_us),
    slot,
    load,
    policy,
  };
}

/** Boards of a plan by node of its PGraph. */
export function boardPlacesOf(instances: Plan['instances']): BoardPlaces {
  return new Map(instances.flatMap(({ pgraph_node, board }) => (board ? [[pgraph_node, board] as const] : [])));
}

/** Instances that ran in slots that may not be used any more, and that the plan does without. */
export function abandonedBy(input: Input, instances: Plan['instances']): string[] {
  const usable = new Set(usableSlots(input).map(({ board, slot }) => slotKey({ board: board.id, slot })));
  const stay = new Set(instances.map(({ id }) => id));
  return (input.base?.instances ?? []).flatMap(({ id, board }) =>
    board && !usable.has(slotKey(board)) && !stay.has(id) ? [id] : [],
  );
}

/** An instance that had to leave its board's server: no other server reaches the slot. */
export function strayConflicts(instances: Plan['instances'], { boards }: PlanInput['infrastructure']): Constraint[] {
  const server = new Map(boards.map((board) => [board.id, board.server]));
  return instances.flatMap((instance): Constraint[] => {
    if (!instance.board || server.get(instance.board.board) === instance.server) return [];
    const where = `${instance.board.board} on ${server.get(instance.board.board)}`;
    return [{ constraint: 'cpu', needed: instance.core_share, available: 0, unit: 'cores', where }];
  });
}
