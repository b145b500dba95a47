import type { Instance } from '@orrery/contract';
import { quantityText } from '../../shared/format/quantity.js';

export function loadText({ load_bps, core_share, board }: Instance): string {
  const load = quantityText('bps', load_bps);
  return board ? load : `${load}, ${quantityText('share', core_share)} of the core`;
}

/** `server-1, core 2` or `server-1, board-1 slot 0` */
export function placeText({ server, core, board }: Instance): string {
  return `${server}, ${board ? `${board.board} slot ${board.slot}` : `core ${core}`}`;
}
