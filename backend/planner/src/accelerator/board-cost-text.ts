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
  /** Packets come to the NF from the hosts only. */
  readonly first: boolean;
}

/**
 * What a slot carries of an NF, and what that costs beside what software would. Beside an engine, its core must forward
 * each packet to the slot and back; at a switch no core has to do anything, but packets cross two links and the fabric once
 * more. Precondition: the descriptor has an implementation for boards.
 */
export function boardCostText(descriptor: NfDescriptor, offer: SlotOffer): string {
  const { name, board, packet_bytes, hosts, software_meets, taken, first } = offer;
  const rate_bps = offeredRateBps(boardImplementation(descriptor)!, packet_bytes, board, hosts);
  const forwards = Math.round(cyclesPerPacket(costOnCore(descriptor, 'board'), packet_bytes));
  const carries = `${name}: ${(rate_bps / 1e9).toPrecision(2)} Gbit/s with packets of ${packet_bytes} bytes`;
  if (board.attached === 'switch') return `${carries}; ${atSwitch(descriptor, packet_bytes, taken && first)}`;
  const forwarding = `the engine spends ${forwards} cycles per packet to forward to it`;
  const usual = defaultImplementation(descriptor);
  if (!usual) return `${carries}; ${forwarding}.`;
  const needs = Math.round(cyclesPerPacket(costOnCore(descriptor, usual.driver), packet_bytes));
  const figures = `${carries}; ${forwarding}; software needs ${needs}.`;
  if (!taken || !software_meets || needs > forwards) return figures;
  return `${figures} Software is the better choice here: it meets every requirement and costs the core less.`;
}

function atSwitch(descriptor: NfDescriptor, packetBytes: number, unmeasured: boolean): string {
  const usual = defaultImplementation(descriptor);
  const cycles = usual && Math.round(cyclesPerPacket(costOnCore(descriptor, usual.driver), packetBytes));
  const instead = cycles === null ? '' : `, where software needs ${cycles} cycles per packet`;
  const before = ' It comes before the first engine, where the measured latency begins: its own time is not in it.';
  return `it hangs on the switch, so no core forwards to it${instead}, but packets cross the fabric once more, over its two links.${unmeasured ? before : ''}`;
}
