import type { ChainDefinition, SloStatus } from '@orrery/contract';
import { type SampleMetric, sampleKey } from '@orrery/contract/sample-keys';

/** Text of an objective. The percentile is in the chain's definition, not in the status. */
export function objectiveText(slo: SloStatus, definition: ChainDefinition | undefined): string {
  if (slo.kind === 'throughput') return 'Throughput at least';
  const declared = definition?.slos.find(({ id }) => id === slo.slo_id);
  const percentile = declared?.kind === 'latency' ? declared.percentile : null;
  return percentile === null ? 'Latency at most' : `p${percentile} latency at most`;
}

/** Sample keys of the measured quantity. */
export function objectiveSeries(slo: SloStatus): { key: string; label: string }[] {
  const key = (metric: SampleMetric<'chain'>) => sampleKey('chain', slo.chain_id, metric);
  if (slo.kind === 'throughput') return [{ key: key('bps'), label: 'throughput' }];
  return [
    { key: key('latency_p99_us'), label: 'p99' },
    { key: key('latency_p50_us'), label: 'p50' },
  ];
}

/** Relative difference between measurement and prediction; positive: measured more. */
export function predictionError(slo: SloStatus): number | null {
  if (slo.measured === null || slo.predicted === null || slo.predicted === 0) return null;
  return (slo.measured - slo.predicted) / slo.predicted;
}

/**
 * Used share of the target: measured / target for an upper limit, target / measured for a lower one; over 1 is a violation.
 */
export function usedShare(slo: SloStatus): number | null {
  if (slo.measured === null) return null;
  if (slo.kind === 'latency') return slo.measured / slo.target;
  return slo.measured === 0 ? Number.POSITIVE_INFINITY : slo.target / slo.measured;
}

/** `+12.4 %`, `−3.0 %`; from a factor of ten on, `33 times`. */
export function errorText(error: number): string {
  if (error >= 9) return `${(1 + error).toFixed(0)} times`;
  return `${error < 0 ? '−' : '+'}${(Math.abs(error) * 100).toFixed(1)} %`;
}
