import {
  type BoardPlace,
  Id,
  ImplementationChoice,
  Name,
  NfMove,
  type NfPlace,
  type NfRef,
  nfInstances,
  type Plan,
  type ReconfigurationRequest,
  SlotRef,
} from '@orrery/contract';
import { z } from 'zod';
import { boardResource, chainResource, type Resource, slotResource } from '../../../ports/lease-book.js';
import { boardOf, instancesOf, onBoard, placeOf, sameNf, sameSlot, slotOf } from '../places.js';

/** What a reconfiguration does: first some NFs leave their slots, then others are loaded. Each list is one change. */
export const Decision = z.strictObject({
  leave: z.array(ImplementationChoice),
  load: z.array(ImplementationChoice),
  moves: z.array(NfMove),
  slot: SlotRef.nullable(),
  /** Servers for what leaves its slot; absent: any. */
  move: z.array(z.strictObject({ instance: Id, server: Name })).optional(),
});
export type Decision = z.infer<typeof Decision>;

/** Moves for a request: to a board, where displaceable NFs leave the slot first, or back to software. */
export function decide(plan: Plan | null, request: ReconfigurationRequest): Decision {
  const { nf, to, slot, load, policy } = request;
  if (to === 'software') {
    return { leave: [choice(nf, { on: 'software' })], load: [], moves: moves(plan, [[nf, SOFTWARE]]), slot: null };
  }
  const displaced = displacedBy(plan, request);
  const [first] = displaced;
  const target = slot ?? (first ? slotOf(boardOf(plan, first)!) : null);
  const loaded = choice(nf, { on: 'board', load, policy, ...(target ? { slot: target } : {}) });
  return {
    leave: displaced.map((each) => choice(each, { on: 'software' })),
    load: [loaded],
    moves: moves(plan, [...displaced.map((each) => [each, SOFTWARE] as const), [nf, onBoard(target)]]),
    slot: target,
  };
}

/** Whether the NF is off all boards afterwards. */
export function isOffBoards({ to }: Pick<NfMove, 'to'>): boolean {
  return to.on !== 'board';
}

/**
 * Reverses an earlier reconfiguration: the NF that it loaded returns to its former implementation, and the NFs that it
 * displaced return to the slot.
 */
export function decideBack(plan: Plan | null, nf: NfRef, earlier: readonly NfMove[], how: BoardPlace): Decision {
  const was = earlier.find((move) => sameNf(move, nf))?.from.on === 'container' ? 'container' : 'software';
  const displaced = earlier.filter((move) => isOffBoards(move) && !sameNf(move, nf));
  const [first] = displaced.filter((each) => instancesOf(plan, each).length > 0 && !boardOf(plan, each));
  const slot = slotOf(how);
  const { load, policy } = how;
  return {
    leave: [choice(nf, { on: was })],
    load: first ? [choice(first, { on: 'board', slot, load, policy })] : [],
    moves: moves(plan, [[nf, { on: was }], ...(first ? [[first, onBoard(slot)] as const] : [])]),
    slot,
  };
}

/** Moves an NF off its board to what it ran as before; `move`: to where it ran. */
export function decideHome(
  plan: Plan | null,
  nf: NfRef,
  on: 'software' | 'container',
  move?: Decision['move'],
): Decision {
  const decision = { leave: [choice(nf, { on })], load: [], moves: moves(plan, [[nf, { on }]]), slot: null };
  return move ? { ...decision, move } : decision;
}

/** Moves NFs whose slots do not work to software. Every plan drops those slots, so there is nothing to choose. */
export function decideLeaving(plan: Plan | null, lost: readonly NfRef[]): Decision {
  const [first] = lost.flatMap((nf) => boardOf(plan, nf) ?? []);
  return {
    leave: [],
    load: [],
    moves: moves(
      plan,
      lost.map((nf) => [nf, SOFTWARE]),
    ),
    slot: first ? slotOf(first) : null,
  };
}

/** The decision with the slot that the plan selected, so that planning again does not select another. */
export function inSlotOf(decision: Decision, plan: Plan): Decision {
  const [first] = decision.load;
  const board = first && boardOf(plan, first);
  if (!first || !board || first.slot) return decision;
  const load = decision.load.map((each) => (each === first ? { ...each, slot: slotOf(board) } : each));
  return placedAt({ ...decision, load }, first, board);
}

/**
 * Resources to lease for the duration: the chains that move, the slots that are vacated, and the boards that are loaded,
 * because each has a single configuration port.
 */
export function touchedBy({ moves, load, slot }: Decision): Resource[] {
  const slots = moves.flatMap(({ from }) => (from.on === 'board' && from.slot ? [slotResource(from.slot)] : []));
  const boards = load.length > 0 && slot ? [boardResource(slot.board)] : [];
  return [...new Set([...moves.map(({ chain_id }) => chainResource(chain_id)), ...slots, ...boards])];
}

/**
 * Which of the displaceable NFs must leave: the user of the requested slot, otherwise the first one on a board; before a
 * full load all of them on that board.
 */
function displacedBy(plan: Plan | null, { nf, slot, load, displaces }: ReconfigurationRequest): NfRef[] {
  const candidates = displaces.filter((each) => !sameNf(each, nf) && boardOf(plan, each));
  const target = slot ?? (candidates[0] ? boardOf(plan, candidates[0]) : null);
  if (!target) return [];
  const inTheWay = (it: BoardPlace) => (load === 'full' ? it.board === target.board : sameSlot(it, target));
  return candidates.filter((each) => inTheWay(boardOf(plan, each)!));
}

/** NFs that a full load would remove from the board without permission to displace them. */
export function overrunBy(plan: Plan | null, { load, slot, moves: list }: FullLoad): string[] {
  if (load !== 'full' || !slot) return [];
  const others = nfInstances(plan?.graph).filter(({ board }) => board?.board === slot.board);
  return others.filter((it) => !list.some((move) => sameNf(move, it))).map(({ pgraph_node }) => pgraph_node);
}

interface FullLoad extends Pick<Decision, 'slot' | 'moves'> {
  readonly load: BoardPlace['load'];
}

/** The reconfiguration once the target slot of the NF is known. */
export function placedAt<T extends { readonly slot: SlotRef | null; readonly moves: NfMove[] }>(
  run: T,
  nf: NfRef,
  at: SlotRef,
): T {
  const moves = run.moves.map((move) => (sameNf(move, nf) ? { ...move, to: onBoard(at) } : move));
  return { ...run, slot: slotOf(at), moves };
}

function choice(
  nf: NfRef,
  more: Partial<ImplementationChoice> & Pick<ImplementationChoice, 'on'>,
): ImplementationChoice {
  return { chain_id: nf.chain_id, node_id: nf.node_id, load: 'partial', policy: 'hold', ...more };
}

const SOFTWARE: NfPlace = { on: 'software' };

function moves(plan: Plan | null, list: readonly (readonly [NfRef, NfPlace])[]): NfMove[] {
  return list.map(([nf, to]) => ({
    chain_id: nf.chain_id,
    node_id: nf.node_id,
    nf: instancesOf(plan, nf)[0]?.nf ?? nf.node_id,
    from: placeOf(plan, nf),
    to,
  }));
}

/**
 * Objectives of higher-priority chains, including displaced ones, that are predicted to be met now and violated afterwards
 * (CoNFV IV-D). A reconfiguration that breaks one is refused.
 */
export function brokenObjectives(
  now: Plan | null,
  next: Plan,
  moving: ReadonlySet<string>,
  priority: number,
  priorityOf: (chainId: string) => number,
): Plan['slos'] {
  const met = new Set((now?.slos ?? []).flatMap((slo) => (slo.met ? [`${slo.chain_id} ${slo.slo_id}`] : [])));
  return next.slos.filter(
    ({ chain_id, slo_id, met: stillMet }) =>
      !stillMet && met.has(`${chain_id} ${slo_id}`) && !moving.has(chain_id) && priorityOf(chain_id) > priority,
  );
}
