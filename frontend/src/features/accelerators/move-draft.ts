import type {
  ImplementationChoice,
  LoadKind,
  LoadPolicy,
  NfRef,
  ReconfigurationRequest,
  SlotRef,
} from '@orrery/contract';
import { type BoardNf, nfKey } from './nfs.js';

/** What the form of a move by hand holds. NFs are chosen by `nfKey`. */
export interface MoveDraft {
  readonly to: 'software' | 'board';
  readonly nf: string;
  /** `<board> <slot>`; empty: whichever fits. */
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

const refOf = ({ pipeline_id, node_id }: NfRef): NfRef => ({ pipeline_id, node_id });

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

/** The request of a draft; null while no NF is chosen that there is. */
export function moveRequest(draft: MoveDraft, nfs: readonly BoardNf[]): ReconfigurationRequest | null {
  const nf = nfs.find((each) => nfKey(each) === draft.nf);
  if (!nf) return null;
  const { to, load, policy } = draft;
  if (to === 'software') return { nf: refOf(nf), to, slot: null, load, policy, displaces: [] };
  const displaces = nfs.filter((each) => draft.displaces.includes(nfKey(each))).map(refOf);
  return { nf: refOf(nf), to, slot: parseSlot(draft.slot), load, policy, displaces };
}

/** What the plans of the move must choose, one after the other: a slot is free only once its user has left. */
export function choicesOf({ nf, to, slot, load, policy, displaces }: ReconfigurationRequest): ImplementationChoice[][] {
  const leave = displaces.map((each) => ({ ...each, on: 'software' as const, load, policy }));
  const move = { ...nf, on: to, load, policy, ...(to === 'board' && slot && { slot }) };
  return leave.length > 0 ? [leave, [move]] : [[move]];
}
