import type { BoardNode, Implementation } from '@orrery/contract';
import { LOOK_ASIDE } from '../engine-costs.js';
import { CORE_BUDGET, cyclesPerPacket } from '../igraph/sizing.js';
import type { Bin } from '../placement/problem.js';

/** What a module carries in its slot, whatever the board's ports do (descriptor; fpga/measured.json). */
export function moduleRateBps({ cost }: Implementation, packetBytes: number, clockMhz: number): number {
  return (clockMhz * 1e6 * 8 * packetBytes) / cyclesPerPacket(cost, packetBytes);
}

/** Most that one core of this clock forwards to a slot and back within its budget. */
export function forwardedRateBps(hz: number, packetBytes: number): number {
  return (CORE_BUDGET * hz * 8 * packetBytes) / cyclesPerPacket(LOOK_ASIDE, packetBytes);
}

/** Keeps shares finite where a server has no link. */
const LEAST_BPS = 1;

/**
 * Most bits per second of packets of this length that a slot carries: its module's rate, at most that of the board's
 * ports and of the NIC, or link, of its server, over which every packet comes and goes. What the core forwards to it is
 * not in it.
 */
export function slotRateBps(
  implementation: Implementation,
  packetBytes: number,
  { clock_mhz, bandwidth_bps, server }: Pick<BoardNode, 'clock_mhz' | 'bandwidth_bps' | 'server'>,
  hosts: BoardHosts,
): number {
  const module = moduleRateBps(implementation, packetBytes, clock_mhz);
  return Math.max(LEAST_BPS, Math.min(module, bandwidth_bps, hosts.get(server)?.link_bps ?? Number.POSITIVE_INFINITY));
}

/** As `slotRateBps`, and no more than one core of the board's server forwards: an NF in a slot has one instance. */
export function offeredRateBps(
  implementation: Implementation,
  packetBytes: number,
  board: Pick<BoardNode, 'clock_mhz' | 'bandwidth_bps' | 'server'>,
  hosts: BoardHosts,
): number {
  const host = hosts.get(board.server);
  const forwarded = host ? forwardedRateBps(host.hz, packetBytes) : Number.POSITIVE_INFINITY;
  return Math.min(slotRateBps(implementation, packetBytes, board, hosts), forwarded);
}

/** Clock of a core of each server, and bits per second of its data NIC or its link, whichever is less. */
export type BoardHosts = ReadonlyMap<string, Pick<Bin, 'hz' | 'link_bps'>>;

export function boardHosts(bins: readonly Bin[]): BoardHosts {
  return new Map(bins.map((bin) => [bin.id, bin]));
}
