import type { BoardNode, NfDescriptor } from '@orrery/contract';
import { costOnCore, defaultImplementation } from '../check/assigned-implementation.js';
import { boardImplementation } from '../check/implementation.js';
import { cyclesPerPacket } from '../igraph/sizing.js';
import { type BoardHosts, offeredRateBps } from './slot-rate.js';

interface SlotOffer {
  /** As shown: `board-1 slot 0`, or `A slot of board-1`. */
  readonly name: string;
  readonly board: BoardNode;
  readonly packet_bytes: number;
  readonly hosts: BoardHosts;
  /** Software meets every requirement too. */
  readonly software_meets: boolean;
  /** The plan uses the slot. */
  readonly taken: boolean;
}

/**
 * What a slot carries of an NF, and what the engine's core pays for it beside what software would: a core must forward
 * each packet to the slot and back. Precondition: the descriptor has an implementation for boards.
 */
export function boardCostText(descriptor: NfDescriptor, offer: SlotOffer): string {
  const { name, board, packet_bytes, hosts, software_meets, taken } = offer;
  const rate_bps = offeredRateBps(boardImplementation(descriptor)!, packet_bytes, board, hosts);
  const forwards = Math.round(cyclesPerPacket(costOnCore(descriptor, 'board'), packet_bytes));
  const carries = `${name}: ${(rate_bps / 1e9).toPrecision(2)} Gbit/s with packets of ${packet_bytes} bytes`;
  const forwarding = `the engine spends ${forwards} cycles per packet to forward to it`;
  const usual = defaultImplementation(descriptor);
  if (!usual) return `${carries}; ${forwarding}.`;
  const needs = Math.round(cyclesPerPacket(costOnCore(descriptor, usual.driver), packet_bytes));
  const figures = `${carries}; ${forwarding}; software needs ${needs}.`;
  if (!taken || !software_meets || needs > forwards) return figures;
  return `${figures} Software is the better choice here: it meets every requirement and costs the core less.`;
}
