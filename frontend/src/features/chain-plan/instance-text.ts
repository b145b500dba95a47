import type { Instance } from '@orrery/contract';
import { quantityText } from '../../shared/format/quantity.js';

export function loadText({ load_bps, core_share, board }: Instance): string {
  const load = quantityText('bps', load_bps);
  return board ? load : `${load}, ${quantityText('share', core_share)} of the core`;
}

/** `server-1, core 2` or `server-1, board-1 slot 0`; of a board at a switch `board-2 slot 0, at the switch` */
export function placeText({ server, core, board }: Instance): string {
  if (board?.attached === 'switch') return `${board.board} slot ${board.slot}, at the switch`;
  return `${server}, ${board ? `${board.board} slot ${board.slot}` : `core ${core}`}`;
}
