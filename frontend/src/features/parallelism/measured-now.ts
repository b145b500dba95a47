import { sampleKey } from '@orrery/contract/sample-keys';
import { useSample, useSampleRing, useStale } from '../../shared/stream/hooks.js';
import type { Ring } from '../../shared/stream/ring.js';
import { latencyIn, type MeasuredLatency } from './measured-latency.js';

/** A sample of a percentile is of the second before it. */
const WINDOW_MS = 1000;

/**
 * What a chain measures now: over the last half minute, and only since the last change of its execution. Null: nothing, or not
 * for long enough. Precondition: its samples are wanted, with those of the last half minute.
 */
export function useMeasuredNow(chainId: string, changed_ms: number | null): MeasuredLatency | null {
  const p50 = sampleKey('chain', chainId, 'latency_p50_us');
  const isStale = useStale(useSample(p50)?.received_ms);
  const rings = [useSampleRing(p50), useSampleRing(sampleKey('chain', chainId, 'latency_p99_us'))];
  if (isStale) return null;
  const since_ms = changed_ms === null ? Number.NEGATIVE_INFINITY : changed_ms + WINDOW_MS;
  const [p50s = [], p99s = []] = rings.map((ring) => valuesSince(ring, since_ms));
  return latencyIn(p50s, p99s);
}

function valuesSince(ring: Ring | undefined, since_ms: number): number[] {
  return (ring?.points() ?? []).flatMap(([t_ms, value]) => (t_ms >= since_ms ? [value] : []));
}
