import type { CostProfile, Infrastructure, NfDescriptor, Plan } from '@orrery/contract';
import { costOnCore } from '../pipeline/forms.js';
import { boardImplementation, slotTimeUs } from '../pipeline/implementation.js';

/**
 * What an instance costs its core, with the fixed time that each packet takes: for one in a slot the board's own latency
 * and the time in the slot, whose pipeline takes packets one behind the other without a queue.
 */
export function costOf(
  instance: Pick<Plan['instances'][number], 'driver' | 'board'>,
  descriptor: NfDescriptor,
  { boards }: Pick<Infrastructure, 'boards'>,
  packetBytes: number,
): CostProfile {
  const cost = costOnCore(descriptor, instance.driver);
  const board = boards.find(({ id }) => id === instance.board?.board);
  if (!board) return cost;
  const slot_us = slotTimeUs(boardImplementation(descriptor)!, packetBytes, board.clock_mhz);
  return { ...cost, base_latency_us: board.latency_us + slot_us };
}
