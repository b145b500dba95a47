import {
  type BoardPlace,
  type Instance,
  type NfPlace,
  type NfRef,
  nfInstances,
  type Plan,
  type SlotRef,
} from '@orrery/contract';

export function instancesOf(plan: Plan | null, { chain_id, node_id }: NfRef): Instance[] {
  return nfInstances(plan?.graph).filter((it) => it.chain_id === chain_id && it.node_id === node_id);
}

export function boardOf(plan: Plan | null, nf: NfRef): BoardPlace | null {
  return instancesOf(plan, nf).find(({ board }) => board)?.board ?? null;
}

/** What an NF runs as when it is not on a board. */
export function softwareFormOf(plan: Plan | null, nf: NfRef): 'software' | 'container' {
  return instancesOf(plan, nf).some(({ driver }) => driver === 'container') ? 'container' : 'software';
}

export function placeOf(plan: Plan | null, nf: NfRef): NfPlace {
  const board = boardOf(plan, nf);
  return board ? onBoard(board) : { on: softwareFormOf(plan, nf) };
}

/** Null: no slot selected yet. */
export function onBoard(slot: SlotRef | null): NfPlace {
  return { on: 'board', slot: slot && slotOf(slot) };
}

export function slotOf({ board, slot }: SlotRef): SlotRef {
  return { board, slot };
}

export function sameNf(a: NfRef, b: NfRef): boolean {
  return a.chain_id === b.chain_id && a.node_id === b.node_id;
}

export function sameSlot(a: SlotRef, b: SlotRef): boolean {
  return a.board === b.board && a.slot === b.slot;
}

/** For messages of events and problems. */
export function nameOf({ board, slot }: SlotRef): string {
  return `${board} slot ${slot}`;
}

export function placeText(place: NfPlace): string {
  if (place.on !== 'board') return place.on;
  return place.slot ? nameOf(place.slot) : 'a free slot';
}
