import type { Accelerator } from '@orrery/contract';

/** Whether the agent reports the board; otherwise the state of the board says more than those of its slots. */
export function isSeen({ state, slots }: Pick<Accelerator, 'state' | 'slots'>): boolean {
  return state === 'absent' || state === 'starting' || !slots.every((slot) => slot.state === 'unknown');
}

/** Whether the board can do nothing now. */
export const isAway = ({ state }: Pick<Accelerator, 'state'>): boolean =>
  state === 'absent' || state === 'failed' || state === 'starting';

/** What a board is that can load nothing now; null: it can. */
export function awayWord(board: Pick<Accelerator, 'state' | 'slots'>): Accelerator['state'] | 'unknown' | null {
  if (!isSeen(board)) return 'unknown';
  return isAway(board) ? board.state : null;
}
