import type { BoardNode, Implementation, Infrastructure } from '@orrery/contract';
import { LOOK_ASIDE } from '../engine-costs.js';
import { CORE_BUDGET, cyclesPerPacket } from '../igraph/sizing.js';
import type { Bin } from '../placement/problem.js';
import { linkedSlots, linkRateOf } from '../slot-links.js';

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
 * ports and of the links over which every packet comes and goes: the NIC, or link, of its server, or its own to the switch.
 * What the core forwards to it is not in it.
 */
export function slotRateBps(
  implementation: Implementation,
  packetBytes: number,
  board: Ported,
  hosts: BoardHosts,
): number {
  const module = moduleRateBps(implementation, packetBytes, board.clock_mhz);
  const link = hosts.get(hostOf(board))?.link_bps ?? Number.POSITIVE_INFINITY;
  return Math.max(LEAST_BPS, Math.min(module, board.bandwidth_bps, link));
}

/** What ports, links and, beside an engine, the core that forwards carry to a slot, whatever runs in it. */
export function carriedRateBps(packetBytes: number, board: Ported, hosts: BoardHosts): number {
  const host = hosts.get(hostOf(board));
  if (!host) return board.bandwidth_bps;
  return Math.min(board.bandwidth_bps, host.link_bps, forwardedRateBps(host.hz, packetBytes));
}

type Ported = Pick<BoardNode, 'id' | 'attached' | 'clock_mhz' | 'bandwidth_bps' | 'server'>;

/** What passes packets to the board: its server, or nothing but its own links. */
function hostOf({ attached, id, server }: Pick<BoardNode, 'id' | 'attached' | 'server'>): string {
  return attached === 'switch' ? `links of ${id}` : server;
}

/**
 * As `slotRateBps`, and beside an engine no more than one core of the board's server forwards: an NF in a slot has one
 * instance.
 */
export function offeredRateBps(
  implementation: Implementation,
  packetBytes: number,
  board: Ported,
  hosts: BoardHosts,
): number {
  const host = hosts.get(hostOf(board));
  const forwarded = host ? forwardedRateBps(host.hz, packetBytes) : Number.POSITIVE_INFINITY;
  return Math.min(slotRateBps(implementation, packetBytes, board, hosts), forwarded);
}

/**
 * Clock of a core of each server, and bits per second of its data NIC or its link, whichever is less; of a board at a
 * switch the slowest of its links, with a clock that is no limit.
 */
export type BoardHosts = ReadonlyMap<string, Pick<Bin, 'hz' | 'link_bps'>>;

export function boardHosts(bins: readonly Bin[], infrastructure: Infrastructure): BoardHosts {
  const hosts = new Map<string, Pick<Bin, 'hz' | 'link_bps'>>(bins.map((bin) => [bin.id, bin]));
  const linked = [...linkedSlots(infrastructure).values()];
  for (const board of infrastructure.boards) {
    if (board.attached !== 'switch') continue;
    const rates = linked.filter((slot) => slot.board === board.id).map(linkRateOf);
    hosts.set(hostOf(board), { hz: Number.POSITIVE_INFINITY, link_bps: Math.min(...rates, Number.POSITIVE_INFINITY) });
  }
  return hosts;
}
