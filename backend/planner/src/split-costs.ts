import type { EngineCost } from './engine-costs.js';

/**
 * To one of several ways by the hash of the flow. Source: `orrery-engine-bench --steering`, 1,000 flows, 2026-11-27, Intel(R)
 * Xeon(R) Processor, shared.
 */
const BY_RANGES: EngineCost = { cycles_per_packet: 73, cycles_per_byte: 0 };

/** The same where the flow is looked up, since it may be in progress elsewhere. Source: the same. */
const TRACKING: EngineCost = { cycles_per_packet: 160, cycles_per_byte: 0 };

export function costOfSplit({ tracks }: { readonly tracks: boolean }): EngineCost {
  return tracks ? TRACKING : BY_RANGES;
}
