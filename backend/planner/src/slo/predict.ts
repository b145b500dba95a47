import { type Constraint, crossesServers, nfInstances, type Plan, type PlannedChain, type Slo } from '@orrery/contract';
import { type Budget, requireTime } from '../budget.js';
import { partOf } from '../igraph/parts.js';
import { leastPercentileUs, mostThroughputBps } from './attainable.js';
import { entryServers } from './calibrate.js';
import { gammaQuantile } from './gamma.js';
import { latencyOf } from './latency.js';
import { calibrationText, type Edge, NOT_CALIBRATED, type Overheads, overheadsOf } from './overhead.js';
import type { PlacedInput } from './placed.js';
import { throughputOf } from './throughput.js';

type SloPrediction = Plan['slos'][number];

const LATENCY_MODEL =
  'processor sharing (M/G/1-PS) on each core, with a wake-up where the core sleeps + base latency + overhead and link delays of hops between servers; percentile of a gamma distribution with the same mean and variance';

/** A board of the twin computes each cycle of its device: it is slower than the device, and what it measures is too. */
const AS_SILICON = 'boards at the clock of their device (an emulated board is up to a few hundred times slower); ';

/** What the predictions of all chains have in common. */
interface Common extends PlacedInput {
  readonly overheads: Readonly<Record<Edge, Overheads>>;
  /** Boards of the twin. */
  readonly emulated: ReadonlySet<string>;
}

/** How latencies of the chain are predicted, and what the overheads come from. */
function latencyModel(input: Common, chainId: string): string {
  const { graph, emulated, calibration = NOT_CALIBRATED } = input;
  const part = partOf(graph, chainId);
  const uses = nfInstances(part).some(({ board }) => board && emulated.has(board.board));
  const crosses = part.edges.some(crossesServers);
  const source = calibrationText(calibration, entryServers(input, chainId), crosses);
  return `${uses ? AS_SILICON : ''}${LATENCY_MODEL}; ${source}`;
}

/**
 * What each objective will measure if the rate estimates hold, for every chain of the plan. Of loss and availability nothing is
 * predicted: a plan has neither failures nor bursts.
 * Errors: `OutOfTime` when the time is over before all are predicted.
 */
export function predictSlos(input: PlacedInput, time: Pick<Budget, 'expired'> = {}): SloPrediction[] {
  const { boards } = input.infrastructure;
  const at = (edge: Edge) => overheadsOf(input.calibration, edge);
  const common = {
    ...input,
    overheads: { low: at('low'), expected: at('expected'), high: at('high') },
    emulated: new Set(boards.filter(({ origin }) => origin === 'twin').map(({ id }) => id)),
  };
  return input.chains.flatMap((chain) => {
    requireTime(time);
    return chain.definition.slos.flatMap((slo) => {
      if (slo.kind === 'latency') return predictLatency(common, chain, slo);
      return slo.kind === 'throughput' ? predictThroughput(common, chain, slo) : [];
    });
  });
}

function predictLatency(
  input: Common,
  chain: PlannedChain,
  { id, percentile, max_us }: Extract<Slo, { kind: 'latency' }>,
): SloPrediction {
  const { chain_id, definition } = chain;
  const at = (edge: Edge) => percentileUs(latencyOf(input, chain_id, null, input.overheads[edge]), percentile / 100);
  const predicted = at('expected');
  const band = { low_us: Math.min(predicted, at('low')), high_us: Math.max(predicted, at('high')) };
  const attainable = Math.min(predicted, leastPercentileUs(input, chain_id, definition, percentile));
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
  return { ...common, target: max_us, predicted, band, attainable, met, constraint };
}

function predictThroughput(
  input: PlacedInput,
  { chain_id, definition }: PlannedChain,
  { id, min_bps }: Extract<Slo, { kind: 'throughput' }>,
): SloPrediction {
  const { bps, bottleneck } = throughputOf(input, { chain_id, rate_bps: definition.traffic_class.rate_bps });
  const model = `rate at which the first resource saturates, with the other chains at their estimates, not counting the cycles of packet I/O: ${bottleneck}`;
  const attainable = Math.max(bps, mostThroughputBps(input, chain_id));
  const met = bps >= min_bps;
  const constraint: Constraint | null =
    attainable < min_bps
      ? { constraint: 'throughput', needed: min_bps, available: attainable, unit: 'bps', where: definition.name }
      : null;
  const common = { chain_id, slo_id: id, kind: 'throughput', unit: 'bps', model } as const;
  return { ...common, target: min_bps, predicted: bps, band: null, attainable, met, constraint };
}

/** A percentile (0 to 1) of a gamma distribution with this mean and variance above the fixed minimum. */
export function percentileUs(
  { mean_us, variance_us2, least_us }: ReturnType<typeof latencyOf>,
  percentile: number,
): number {
  return least_us + gammaQuantile(percentile, mean_us - least_us, variance_us2);
}
