import type { LoadKind, LoadPolicy, NfRef, ReconfigurationRequest, SlotRef } from '@orrery/contract';
import { nfKey } from '../../shared/api/chains.js';
import type { MoveChoices } from '../../shared/plan/move-plan.js';
import { type BoardNf, sameNf } from './nfs.js';

/** A manual move that the operator starts: to a given slot, of an NF to any slot, or back. */
export type MoveStart =
  | { readonly to: 'board'; readonly slot: SlotRef | null; readonly nf: string }
  | { readonly to: 'software'; readonly nf: BoardNf };

/** Form state of a manual move. NFs are identified by `nfKey`. */
export interface MoveDraft {
  readonly to: 'software' | 'board';
  readonly nf: string;
  /** `<board> <slot>`; empty: any that fits. */
  readonly slot: string;
  readonly load: LoadKind;
  readonly policy: LoadPolicy;
  readonly displaces: readonly string[];
}

export const slotValue = ({ board, slot }: SlotRef) => `${board} ${slot}`;

export function parseSlot(value: string): SlotRef | null {
  const [board, slot] = value.split(' ');
  return board && slot ? { board, slot: Number(slot) } : null;
}

/** Initial form state. An NF that cannot run on a board is not selected. */
export function draftOf(start: MoveStart, nfs: readonly BoardNf[]): MoveDraft {
  const base = { load: 'partial', policy: 'hold' } as const;
  if (start.to === 'software') return { ...base, to: 'software', nf: nfKey(start.nf), slot: '', displaces: [] };
  const nf = nfs.some((each) => nfKey(each) === start.nf) ? start.nf : '';
  const slot = start.slot ? slotValue(start.slot) : '';
  return { ...base, to: 'board', nf, slot, displaces: inTheWay(nfs, { nf, slot, load: base.load }).map(nfKey) };
}

const refOf = ({ chain_id, node_id }: NfRef): NfRef => ({ chain_id, node_id });

/** NFs that the chosen slot runs now, which must make room. */
export function inTheWay(nfs: readonly BoardNf[], draft: Pick<MoveDraft, 'nf' | 'slot' | 'load'>): BoardNf[] {
  const at = parseSlot(draft.slot);
  // A full load replaces every slot of its board.
  return nfs.filter(
    ({ slot, ...nf }) =>
      at !== null &&
      slot?.board === at.board &&
      (draft.load === 'full' || slot.slot === at.slot) &&
      nfKey(nf) !== draft.nf,
  );
}

/** The request for a draft; null while no existing NF is selected. */
export function moveRequest(draft: MoveDraft, nfs: readonly BoardNf[]): ReconfigurationRequest | null {
  const nf = nfs.find((each) => nfKey(each) === draft.nf);
  if (!nf) return null;
  const { to, load, policy } = draft;
  if (to === 'software') return { nf: refOf(nf), to, slot: null, load, policy, displaces: [] };
  const displaces = displaceable(nfs, draft).filter((each) => draft.displaces.includes(nfKey(each)));
  return { nf: refOf(nf), to, slot: parseSlot(draft.slot), load, policy, displaces: displaces.map(refOf) };
}

/** NFs that could make room: those in the named slot, otherwise all that have a slot. */
export function displaceable(nfs: readonly BoardNf[], draft: Pick<MoveDraft, 'nf' | 'slot' | 'load'>): BoardNf[] {
  return draft.slot ? inTheWay(nfs, draft) : nfs.filter((nf) => nf.slot && nfKey(nf) !== draft.nf);
}

/**
 * Implementation choices of the successive plans of the move: a slot is free only once its user has left. If no slot is
 * named there are two alternatives: displace nothing if there is room, otherwise the first NF that may be displaced.
 */
export function waysOf(request: ReconfigurationRequest, nfs: readonly BoardNf[]): MoveChoices[] {
  const { nf, to, slot, load, policy, displaces } = request;
  const move = (at: SlotRef | null) => ({ ...nf, on: to, load, policy, ...(to === 'board' && at && { slot: at }) });
  const target = slot ?? nfs.find((each) => displaces.some((it) => sameNf(it, each)))?.slot ?? null;
  if (displaces.length === 0 || !target) return [[[move(slot)]]];
  const leaving = inTheWay(nfs, { nf: nfKey(nf), slot: slotValue(target), load });
  const leave = leaving
    .filter((each) => displaces.some((it) => sameNf(it, each)))
    .map((each) => ({ ...refOf(each), on: 'software' as const, load, policy }));
  const room = leave.length > 0 ? [leave, [move(target)]] : [[move(target)]];
  return slot ? [room] : [[[move(null)]], room];
}
