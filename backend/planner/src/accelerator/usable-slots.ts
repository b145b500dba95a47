import { nfInstances, type SlotRef, slotPlace } from '@orrery/contract';
import type { PlanInput } from '../plan/input.js';
import { linkedSlots } from '../slot-links.js';
import type { FreeSlot } from './fill-slots.js';

/** What decides which slots may be used. */
export type SlotInput = Pick<
  PlanInput,
  | 'infrastructure'
  | 'base'
  | 'reserved_slots'
  | 'without_slots'
  | 'without_servers'
  | 'lost_servers'
  | 'without_boards'
  | 'closed_servers'
  | 'closed_boards'
>;

export function slotKey({ board, slot }: SlotRef): string {
  return `${board}/${slot}`;
}

/**
 * Working slots of boards whose servers may be used; at a switch, those with a link at both ports. Of closed boards, and
 * those of closed servers, only what is in use.
 */
export function usableSlots({ infrastructure, without_slots = [], ...without }: SlotInput) {
  const linked = linkedSlots(infrastructure);
  const excluded = new Set([...(without.without_servers ?? []), ...(without.lost_servers ?? [])]);
  const boards = new Set(without.without_boards);
  const servers = new Set(infrastructure.servers.flatMap(({ id }) => (excluded.has(id) ? [] : [id])));
  const broken = new Set(without_slots.map(slotKey));
  const closed = new Set([...(without.closed_servers ?? []), ...(without.closed_boards ?? [])]);
  const taken = closed.size > 0 ? takenSlots(without.base) : closed;
  return infrastructure.boards
    .filter(({ id, server }) => servers.has(server) && !boards.has(id))
    .flatMap((board) => Array.from({ length: board.slots }, (_, slot) => ({ board, slot })))
    .filter(({ board, slot }) => !broken.has(slotKey({ board: board.id, slot })))
    .filter(
      ({ board, slot }) =>
        !(closed.has(board.id) || closed.has(board.server)) || taken.has(slotKey({ board: board.id, slot })),
    )
    .filter(({ board, slot }) => board.attached !== 'switch' || linked.has(slotPlace({ board: board.id, slot })));
}

export function isUsable(input: SlotInput, { board, slot }: SlotRef): boolean {
  return usableSlots(input).some((it) => it.board.id === board && it.slot === slot);
}

/** The usable slots with their current users. */
export function freeSlots(input: SlotInput): FreeSlot[] {
  const taken = takenSlots(input.base);
  const reserved = new Set((input.reserved_slots ?? []).map(slotKey));
  return usableSlots(input).map(({ board, slot }) => {
    const key = slotKey({ board: board.id, slot });
    return { board, slot, taken: taken.has(key), reserved: reserved.has(key) };
  });
}

function takenSlots(base: SlotInput['base']): ReadonlySet<string> {
  return new Set(nfInstances(base?.graph).flatMap(({ board }) => (board ? [slotKey(board)] : [])));
}
