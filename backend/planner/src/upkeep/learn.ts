import type { ChainDefinition, CostProfile, NfDescriptor } from '@orrery/contract';
import { costOnCore } from '../check/assigned-implementation.js';
import { configuredNf } from '../check/configured-nf.js';
import { cyclesPerPacket } from '../igraph/sizing.js';

/** Fewer say too little. */
const LEAST_SAMPLES = 30;
/** With more, no single figure describes the NF. */
const MOST_SPREAD = 0.5;
/** Ratio of the standard deviation of a normal variable to its median absolute deviation. */
const DEVIATION_BY_MAD = 1.4826;
/** The contract's bounds. */
const FACTOR = { least: 0.001, most: 1000 };
const CYCLES = { least: 0.001, most: 1e9 };
const MOST_CYCLES_PER_BYTE = 1e6;

type OnCore = 'engine' | 'process' | 'container';

/** Cycles that a packet took, by those that the descriptor says for its length in this chain. */
export function costFactor(
  declared: NfDescriptor,
  driver: OnCore,
  definition: Pick<ChainDefinition, 'nodes'>,
  nodeId: string,
  { cycles, packet_bytes }: { readonly cycles: number; readonly packet_bytes: number },
): number {
  return cycles / cyclesPerPacket(costOnCore(configuredNf(declared, definition, nodeId), driver), packet_bytes);
}

/** What the factors say together; `refusal`: why that is not enough. Null without any. */
export function learntFrom(factors: readonly number[]): {
  readonly factor: number;
  readonly spread: number;
  readonly refusal: string | null;
} | null {
  if (factors.length === 0) return null;
  const middle = medianOf(factors);
  const factor = Math.min(FACTOR.most, Math.max(FACTOR.least, middle));
  const spread = (DEVIATION_BY_MAD * medianOf(factors.map((each) => Math.abs(each - middle)))) / factor;
  return { factor, spread, refusal: refusalOf(factors.length, middle, factor, spread) };
}

function refusalOf(samples: number, middle: number, factor: number, spread: number): string | null {
  if (samples < LEAST_SAMPLES) return `Only ${samples} samples were measured, of at least ${LEAST_SAMPLES}.`;
  if (factor !== middle) return 'What is measured is too far from what is declared to be a cost of this NF.';
  const percent = Math.round(100 * spread);
  return spread > MOST_SPREAD ? `The samples differ by ${percent} %, more than ${100 * MOST_SPREAD} %.` : null;
}

/** The profile with the factor on its cycles. */
export function timesFactor(cost: CostProfile, factor: number): CostProfile {
  const { cycles_per_packet, cycles_per_byte } = cost;
  return {
    ...cost,
    cycles_per_packet: Math.min(CYCLES.most, Math.max(CYCLES.least, cycles_per_packet * factor)),
    cycles_per_byte: Math.min(MOST_CYCLES_PER_BYTE, cycles_per_byte * factor),
  };
}

function medianOf(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  return (sorted[Math.ceil(middle) - 1]! + sorted[Math.floor(middle)]!) / 2;
}
