import { crossesServers, isAtSwitch, nfInstances } from '@orrery/contract';
import { partOf } from '../igraph/parts.js';
import { beforeFirstEngine, isFromHosts } from './before-engine.js';
import { gammaThrough } from './gamma.js';
import { type LatencyInput, latencyOf } from './latency.js';
import { type Overheads, overheadsOf, type Spread } from './overhead.js';

/** Percentiles of one window of a chain's exit histogram. */
export interface MeasuredLatency {
  readonly p50_us: number;
  readonly p99_us: number;
}

/** The overhead with which the model gives the measured percentiles. */
export type MeasuredOverhead = Spread & (EntriesOf | { readonly of: 'hop' });

interface EntriesOf {
  readonly of: 'entries';
  /** Where the chain's packets enter. */
  readonly servers: readonly string[];
}

/** A chain whose latency depends less than this on the overhead says nothing about it: its cores hardly sleep. */
const LEAST_GAIN = 0.2;
const ROUNDS = 12;

/**
 * What a window of a running chain says about the overhead of its servers, or of hops where it has any; the entries of
 * such a chain are those of the input's calibration. Null: it says nothing.
 */
export function measuredOverhead(
  input: LatencyInput,
  chainId: string,
  measured: MeasuredLatency,
): MeasuredOverhead | null {
  // A container whose CPU is limited waits for its next period, which is no overhead of its server.
  if (nfInstances(partOf(input.graph, chainId)).some(({ cpu_limit }) => cpu_limit !== undefined)) return null;
  const edges = partOf(input.graph, chainId).edges.filter(({ direction }) => direction === 'forward');
  const unseen = beforeFirstEngine(partOf(input.graph, chainId));
  const crosses = edges.some((edge) => crossesServers(edge) && !isFromHosts(edge, unseen));
  const servers = entryServers(input, chainId);
  if (servers.length === 0) return null;
  const known = overheadsOf(input.calibration);
  const using = (spread: Spread): Overheads =>
    crosses ? { ...known, hop: spread } : { ...known, entry: () => spread };
  const spread = spreadFor((each) => latencyOf(input, chainId, null, using(each)), measured);
  if (!spread) return null;
  return crosses ? { of: 'hop', ...spread } : { of: 'entries', servers, ...spread };
}

/** Servers at which packets of the chain enter from the switches. */
export function entryServers({ graph }: Pick<LatencyInput, 'graph'>, chainId: string): string[] {
  const part = partOf(graph, chainId);
  const unseen = beforeFirstEngine(part);
  const entering = part.edges.filter(
    (edge) => edge.direction === 'forward' && isFromHosts(edge, unseen) && !unseen.has(edge.to),
  );
  const slots = new Set(nfInstances(part).flatMap((node) => (isAtSwitch(node) ? [node.id] : [])));
  return [...new Set(entering.filter(({ to }) => !slots.has(to)).map(({ to_server }) => to_server))].sort();
}

/** Solves for mean and variance: the model is linear in both but for merges, where a few rounds come near enough. */
function spreadFor(model: (spread: Spread) => ReturnType<typeof latencyOf>, measured: MeasuredLatency): Spread | null {
  let mean_us = 1;
  let variance = 1;
  const at = () => model({ mean_us, sd_us: Math.sqrt(variance) });
  const gain = model({ mean_us: 2, sd_us: 1 }).mean_us - at().mean_us;
  const { least_us } = at();
  if (gain < LEAST_GAIN || measured.p50_us <= least_us || measured.p99_us <= measured.p50_us) return null;
  const wanted = gammaThrough(
    { p: 0.5, value: measured.p50_us - least_us },
    { p: 0.99, value: measured.p99_us - least_us },
  );
  for (let round = 0; round < ROUNDS; round++) {
    const now = at();
    mean_us = Math.max(0, mean_us + (least_us + wanted.mean - now.mean_us) / gain);
    variance = Math.max(1e-9, variance + (wanted.variance - at().variance_us2) / gain);
  }
  return { mean_us, sd_us: Math.sqrt(variance) };
}
