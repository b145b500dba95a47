import { type Constraint, nfInstances, type Plan, type PlannedChain, type Slo } from '@orrery/contract';
import { leastPercentileUs, mostThroughputBps } from './attainable.js';
import { gammaQuantile } from './gamma.js';
import { latencyOf } from './latency.js';
import type { PlacedInput } from './placed.js';
import { throughputOf } from './throughput.js';

type SloPrediction = Plan['slos'][number];

const LATENCY_MODEL =
  'processor sharing (M/G/1-PS) on each core, with an exponential wake-up of mean 8 µs where the core sleeps + base latency + 50 µs and the link delays a fabric hop; percentile of a gamma distribution with the same mean and variance';

/** A board of the twin computes each cycle of its device: it is slower than the device, and what it measures is too. */
const AS_SILICON = 'boards at the clock of their device (an emulated board is up to a few hundred times slower); ';

function latencyModel({ graph, infrastructure }: PlacedInput, chainId: string): string {
  const emulated = new Set(infrastructure.boards.filter(({ origin }) => origin === 'twin').map(({ id }) => id));
  const uses = nfInstances(graph).some(
    ({ chain_id, board }) => chain_id === chainId && board && emulated.has(board.board),
  );
  return uses ? AS_SILICON + LATENCY_MODEL : LATENCY_MODEL;
}

/** What each objective will measure if the rate estimates hold, for every chain of the plan. */
export function predictSlos(input: PlacedInput): SloPrediction[] {
  return input.chains.flatMap((chain) =>
    chain.definition.slos.map((slo) =>
      slo.kind === 'latency' ? predictLatency(input, chain, slo) : predictThroughput(input, chain, slo),
    ),
  );
}

function predictLatency(
  input: PlacedInput,
  chain: PlannedChain,
  { id, percentile, max_us }: Extract<Slo, { kind: 'latency' }>,
): SloPrediction {
  const { chain_id, definition } = chain;
  const predicted = percentileUs(latencyOf(input, chain_id), percentile / 100);
  const attainable = Math.min(predicted, leastPercentileUs(input, definition, percentile));
  const met = predicted <= max_us;
  const constraint: Constraint | null =
    attainable > max_us
      ? { constraint: 'latency', needed: attainable, available: max_us, unit: 'us', where: definition.name }
      : null;
  const common = {
    chain_id,
    slo_id: id,
    kind: 'latency',
    unit: 'us',
    model: latencyModel(input, chain_id),
  } as const;
  return { ...common, target: max_us, predicted, attainable, met, constraint };
}

function predictThroughput(
  input: PlacedInput,
  { chain_id, definition }: PlannedChain,
  { id, min_bps }: Extract<Slo, { kind: 'throughput' }>,
): SloPrediction {
  const { bps, bottleneck } = throughputOf(input, { chain_id, rate_bps: definition.traffic_class.rate_bps });
  const model = `rate at which the first resource saturates, with the other chains at their estimates: ${bottleneck}`;
  const attainable = Math.max(bps, mostThroughputBps(input, chain_id));
  const met = bps >= min_bps;
  const constraint: Constraint | null =
    attainable < min_bps
      ? { constraint: 'throughput', needed: min_bps, available: attainable, unit: 'bps', where: definition.name }
      : null;
  const common = { chain_id, slo_id: id, kind: 'throughput', unit: 'bps', model } as const;
  return { ...common, target: min_bps, predicted: bps, attainable, met, constraint };
}

/** A percentile (0 to 1) of a gamma distribution with this mean and variance above the fixed minimum. */
export function percentileUs(
  { mean_us, variance_us2, least_us }: ReturnType<typeof latencyOf>,
  percentile: number,
): number {
  return least_us + gammaQuantile(percentile, mean_us - least_us, variance_us2);
}
