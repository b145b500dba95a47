import type { EngineCost } from './engine-costs.js';

/**
 * Streams whose segments come in order, which cost no copy. Source: `orrery-nf-bench --only "ids + sqli-detector"`, medians of
 * five runs, 128 to 1514 bytes, 2026-11-27, Intel(R) Xeon(R) Processor (docs/benchmarks/engine.md, TCP streams).
 */

/** One reassembly of TCP streams: what a second one adds for the same two detectors. */
export const REASSEMBLY: EngineCost = { cycles_per_packet: 52, cycles_per_byte: 0 };

/** What an NF takes to search a stream beyond what it takes to search the packet. */
export const STREAM_READING: EngineCost = { cycles_per_packet: 107, cycles_per_byte: 0 };

export function costSum<Cost extends EngineCost>(cost: Cost, more: EngineCost): Cost {
  return {
    ...cost,
    cycles_per_packet: cost.cycles_per_packet + more.cycles_per_packet,
    cycles_per_byte: cost.cycles_per_byte + more.cycles_per_byte,
  };
}
