import type { CostProfile } from '@orrery/contract';

/** Packet length for which rates are compared, as the default of a traffic class. */
export const REFERENCE_PACKET_BYTES = 800;

/** Packets per second on one 1-GHz core according to the cost profile; an estimate, not a measurement. */
export function rateOfOneCore(cost: CostProfile, packet_bytes = REFERENCE_PACKET_BYTES): number {
  return 1e9 / (cost.cycles_per_packet + cost.cycles_per_byte * packet_bytes);
}
