import type { BoardNode, LentAccelerator, NfDescriptor, PlannedChain } from '@orrery/contract';
import { obstacleAtSwitch } from '../accelerator/at-switch.js';

/** A VNF as it runs, or ran before it was lent a slot. */
export interface Candidate {
  readonly server: string;
  readonly node_id: string;
  /** Null: it is of a chain or an NF that is not known any more. */
  readonly chain: PlannedChain | null;
  readonly descriptor: NfDescriptor | null;
  /** How many share the NF's traffic. */
  readonly instances: number;
  /** What its element manager can switch it to on its server. */
  readonly kinds: readonly string[];
}

/** A board as declared, and the NFs for which it has bitstreams; null: not known. */
export interface OfferedBoard extends Pick<BoardNode, 'id' | 'slots' | 'resources' | 'attached'> {
  readonly modules: readonly string[] | null;
}

/**
 * Whether a VNF could use an accelerator if it were free. The instructions of a server are for VNFs of that server; a slot
 * is for every VNF that is the only instance of its NF and that the board can run, wherever it stands.
 */
export function isEligible(vnf: Candidate, accelerator: LentAccelerator, boards: readonly OfferedBoard[]): boolean {
  if (accelerator.kind === 'instructions')
    return vnf.server === accelerator.server && vnf.kinds.includes('instructions');
  const board = boards.find(({ id }) => id === accelerator.board);
  return board !== undefined && accelerator.slot < board.slots && runsOn(vnf, board);
}

function runsOn({ chain, descriptor, node_id, instances }: Candidate, board: OfferedBoard): boolean {
  if (!chain || !descriptor || instances !== 1) return false;
  if (board.modules && !board.modules.includes(descriptor.id)) return false;
  const fits = descriptor.implementations.some(
    (it) =>
      it.kind === 'board' && Object.entries(it.resources).every(([name, need]) => need <= (board.resources[name] ?? 0)),
  );
  return fits && (board.attached !== 'switch' || obstacleAtSwitch(chain, node_id, descriptor) === null);
}
