import type { PipelineDefinition, SloStatus } from '@orrery/contract';

/** What an objective demands, in words. The percentile is in the chain's definition, not in the status. */
export function objectiveText(slo: SloStatus, definition: PipelineDefinition | undefined): string {
  if (slo.kind === 'throughput') return 'Throughput at least';
  const declared = definition?.slos.find(({ id }) => id === slo.slo_id);
  const percentile = declared?.kind === 'latency' ? declared.percentile : null;
  return percentile === null ? 'Latency at most' : `p${percentile} latency at most`;
}

/** Sample keys that show what the objective is about. */
export function objectiveSeries(slo: SloStatus): { key: string; label: string }[] {
  const base = `pipeline/${slo.pipeline_id}`;
  if (slo.kind === 'throughput') return [{ key: `${base}/bps`, label: 'throughput' }];
  return [
    { key: `${base}/latency_p99_us`, label: 'p99' },
    { key: `${base}/latency_p50_us`, label: 'p50' },
  ];
}

/** How far the measurement is from the prediction, as a part of the prediction; positive: measured more. */
export function predictionError(slo: SloStatus): number | null {
  if (slo.measured === null || slo.predicted === null || slo.predicted === 0) return null;
  return (slo.measured - slo.predicted) / slo.predicted;
}

/**
 * Part of the target that is used: for a limit measured / target, for a floor target / measured; over 1 is a violation.
 */
export function usedShare(slo: SloStatus): number | null {
  if (slo.measured === null) return null;
  if (slo.kind === 'latency') return slo.measured / slo.target;
  return slo.measured === 0 ? Number.POSITIVE_INFINITY : slo.target / slo.measured;
}

/** `+12.4 %`, `−3.0 %`; from ten times on `33 times`. */
export function errorText(error: number): string {
  if (error >= 9) return `${(1 + error).toFixed(0)} times`;
  return `${error < 0 ? '−' : '+'}${(Math.abs(error) * 100).toFixed(1)} %`;
}
