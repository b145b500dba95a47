import type {
  BoardPlace,
  ImplementationChoice,
  NfMove,
  NfRef,
  Plan,
  ReconfigurationRequest,
  SlotRef,
} from '@orrery/contract';

type Instance = Plan['instances'][number];

/** What a reconfiguration does: who leaves its slot first, then who is loaded. Each list is one change of what runs. */
export interface Decision {
  readonly leave: readonly ImplementationChoice[];
  readonly load: readonly ImplementationChoice[];
  readonly moves: readonly NfMove[];
  readonly slot: SlotRef | null;
}

export function instancesOf(plan: Plan | null, { pipeline_id, node_id }: NfRef): Instance[] {
  return (plan?.instances ?? []).filter((it) => it.pipeline_id === pipeline_id && it.node_id === node_id);
}

export function boardOf(plan: Plan | null, nf: NfRef): BoardPlace | null {
  return instancesOf(plan, nf).find(({ board }) => board)?.board ?? null;
}

/** As what an NF runs that is on no board. */
export function softwareFormOf(plan: Plan | null, nf: NfRef): 'software' | 'container' {
  return instancesOf(plan, nf).some(({ driver }) => driver === 'container') ? 'container' : 'software';
}

/** `<pipeline name>.<node>`, as in sample keys. */
export function nfKey(plan: Plan | null, nf: NfRef): string | null {
  return instancesOf(plan, nf)[0]?.pgraph_node ?? null;
}

/** Moves by request: onto a board, where NFs that may be displaced leave the slot first, or back to software. */
export function decide(plan: Plan | null, request: ReconfigurationRequest): Decision {
  const { nf, to, slot, load, policy } = request;
  if (to === 'software') {
    return { leave: [choice(nf, { on: 'software' })], load: [], moves: moves(plan, [[nf, 'software']]), slot: null };
  }
  const displaced = displacedBy(plan, request);
  const [first] = displaced;
  const target = slot ?? (first ? place(boardOf(plan, first)!) : null);
  const onBoard = choice(nf, { on: 'board', load, policy, ...(target ? { slot: target } : {}) });
  const where = target ? nameOf(target) : 'a free slot';
  return {
    leave: displaced.map((each) => choice(each, { on: 'software' })),
    load: [onBoard],
    moves: moves(plan, [...displaced.map((each) => [each, 'software'] as const), [nf, where]]),
    slot: target,
  };
}

/** Whether the NF is on no board afterwards. */
export function isOffBoards({ to }: Pick<NfMove, 'to'>): boolean {
  return to === 'software' || to === 'container';
}

/**
 * The way back of an earlier reconfiguration: what it loaded becomes what it was before, and what it displaced returns to the
 * slot.
 */
export function decideBack(plan: Plan | null, nf: NfRef, earlier: readonly NfMove[], how: BoardPlace): Decision {
  const was = earlier.find((move) => sameNf(move, nf))?.from === 'container' ? 'container' : 'software';
  const displaced = earlier.filter((move) => isOffBoards(move) && !sameNf(move, nf));
  const [first] = displaced.filter((each) => instancesOf(plan, each).length > 0 && !boardOf(plan, each));
  const slot = place(how);
  const { load, policy } = how;
  return {
    leave: [choice(nf, { on: was })],
    load: first ? [choice(first, { on: 'board', slot, load, policy })] : [],
    moves: moves(plan, [[nf, was], ...(first ? [[first, nameOf(slot)] as const] : [])]),
    slot,
  };
}

/**
 * Who has to leave, of those that may be displaced: the user of the slot that was asked for, else the first on a board;
 * before a full load everybody on that board.
 */
function displacedBy(plan: Plan | null, { nf, slot, load, displaces }: ReconfigurationRequest): NfRef[] {
  const candidates = displaces.filter((each) => !sameNf(each, nf) && boardOf(plan, each));
  const target = slot ?? (candidates[0] ? boardOf(plan, candidates[0]) : null);
  if (!target) return [];
  const inTheWay = (it: BoardPlace) => (load === 'full' ? it.board === target.board : sameSlot(it, target));
  return candidates.filter((each) => inTheWay(boardOf(plan, each)!));
}

/** NFs that a full load would take off their board without being asked. */
export function overrunBy(plan: Plan | null, { load, slot, moves: list }: FullLoad): string[] {
  if (load !== 'full' || !slot) return [];
  const others = (plan?.instances ?? []).filter(({ board }) => board?.board === slot.board);
  return others.filter((it) => !list.some((move) => sameNf(move, it))).map(({ pgraph_node }) => pgraph_node);
}

interface FullLoad extends Pick<Decision, 'slot' | 'moves'> {
  readonly load: BoardPlace['load'];
}

export function sameNf(a: NfRef, b: NfRef): boolean {
  return a.pipeline_id === b.pipeline_id && a.node_id === b.node_id;
}

export function sameSlot(a: SlotRef, b: SlotRef): boolean {
  return a.board === b.board && a.slot === b.slot;
}

export function nameOf({ board, slot }: SlotRef): string {
  return `${board} slot ${slot}`;
}

/** The reconfiguration once it is known in which slot the NF is to be. */
export function placedAt<T extends { readonly slot: SlotRef | null; readonly moves: NfMove[] }>(
  run: T,
  nf: NfRef,
  at: SlotRef,
): T {
  const moves = run.moves.map((move) => (sameNf(move, nf) ? { ...move, to: nameOf(at) } : move));
  return { ...run, slot: place(at), moves };
}

function place({ board, slot }: SlotRef): SlotRef {
  return { board, slot };
}

function choice(
  nf: NfRef,
  more: Partial<ImplementationChoice> & Pick<ImplementationChoice, 'on'>,
): ImplementationChoice {
  return { pipeline_id: nf.pipeline_id, node_id: nf.node_id, load: 'partial', policy: 'hold', ...more };
}

function moves(plan: Plan | null, list: readonly (readonly [NfRef, string])[]): NfMove[] {
  return list.map(([nf, to]) => {
    const [instance] = instancesOf(plan, nf);
    const from = instance?.board ? nameOf(instance.board) : softwareFormOf(plan, nf);
    return { pipeline_id: nf.pipeline_id, node_id: nf.node_id, nf: instance?.nf ?? nf.node_id, from, to };
  });
}

/** A chain with no policy is as important as most. */
export const USUAL_PRIORITY = 50;

/**
 * Objectives that were to be met and would not be any more, of chains that are more important than what moves (CoNFV IV-D),
 * also of those that are displaced: a reconfiguration that breaks one is refused.
 */
export function brokenObjectives(
  now: Plan | null,
  next: Plan,
  moving: ReadonlySet<string>,
  priority: number,
  priorityOf: (pipelineId: string) => number,
): Plan['slos'] {
  const met = new Set((now?.slos ?? []).flatMap((slo) => (slo.met ? [`${slo.pipeline_id} ${slo.slo_id}`] : [])));
  return next.slos.filter(
    ({ pipeline_id, slo_id, met: stillMet }) =>
      !stillMet &&
      met.has(`${pipeline_id} ${slo_id}`) &&
      !moving.has(pipeline_id) &&
      priorityOf(pipeline_id) > priority,
  );
}
