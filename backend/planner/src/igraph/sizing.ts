import { FLOW_SPACE } from '@orrery/contract';
import type { EngineCost } from '../engine-costs.js';

/**
 * Part of a core that plans hand out. The rest is for the engine's own work and for estimates that are too low; without
 * it a queue in front of a fully booked core has no bound.
 */
export const CORE_BUDGET = 0.85;

/** Cycles that one packet of this length costs. */
export function cyclesPerPacket(cost: EngineCost, packetBytes: number): number {
  return cost.cycles_per_packet + cost.cycles_per_byte * packetBytes;
}

/** Packets per second of a rate in bits per second. */
export function packetRate(rateBps: number, packetBytes: number): number {
  return rateBps / (8 * packetBytes);
}

/** Instances that carry the load when each has at most one core's budget (E2 3.4.1 step 2). */
export function instancesFor(coresNeeded: number): number {
  let count = Math.max(1, Math.ceil(coresNeeded / CORE_BUDGET - 1e-9));
  /** Ranges consist of whole flow identities: the widest may be slightly larger than an equal share. */
  const widest = (n: number) => Math.ceil(FLOW_SPACE / n) / FLOW_SPACE;
  while (count < FLOW_SPACE && coresNeeded * widest(count) > CORE_BUDGET * (1 + 1e-9)) count++;
  return count;
}

/** Instances needed for the cycles per second on cores of this clock. */
export function instancesForCycles(cyclesPerSecond: number, ghz: number): number {
  return instancesFor(cyclesPerSecond / (ghz * 1e9));
}
