import type { SlotRef } from '@orrery/contract';
import { invalid } from '../../platform/problem.js';
import type { BoardView } from '../../ports/board-view.js';

/** Throws 422 for a slot that there is not. */
export function requireSlot(boards: BoardView, { board, slot }: SlotRef): void {
  const found = boards.accelerators().find(({ id }) => id === board);
  if (!found) throw invalid([{ pointer: '/slot/board', detail: `there is no board ${board}`, code: 'unknown-board' }]);
  const { slots } = found;
  if (slot >= slots.length)
    throw invalid([
      { pointer: '/slot/slot', detail: `${board} has slots 0 to ${slots.length - 1}`, code: 'unknown-slot' },
    ]);
}
