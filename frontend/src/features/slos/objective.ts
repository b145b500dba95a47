import type { ChainDefinition, SloStatus } from '@orrery/contract';
import { type SampleMetric, sampleKey } from '@orrery/contract/sample-keys';
import { classObjectiveText, edgeClassText } from '../../shared/chain/class-objective-text.js';

/** Text of an objective. The percentile is in the chain's definition, not in the status. */
export function objectiveText(slo: SloStatus, definition: ChainDefinition | undefined): string {
  if (slo.kind === 'throughput') return 'Throughput at least';
  const between = definition?.class_slos.find(({ id }) => id === slo.slo_id);
  const name = (edge: string) => (definition ? edgeClassText(definition, edge) : edge);
  if (between?.kind === 'priority') return `${name(between.below)} served while ${name(between.above)} waits, at most`;
  if (definition && between) return classObjectiveText(definition, between);
  if (slo.kind !== 'latency') return KIND_TEXTS[slo.kind];
  const declared = definition?.slos.find(({ id }) => id === slo.slo_id);
  const percentile = declared?.kind === 'latency' ? declared.percentile : null;
  return percentile === null ? 'Latency at most' : `p${percentile} latency at most`;
}

const KIND_TEXTS = {
  loss: 'Lost of the offered packets, at most',
  availability: 'Delivered of the offered packets, at least',
  'cpu-ratio': 'Ratio of CPU time',
  'packet-ratio': 'Ratio of packets',
  priority: 'Served while the class above waits, at most',
} as const;

/** Sample keys of the measured quantity; none of an objective between classes. */
export function objectiveSeries(slo: SloStatus): { key: string; label: string }[] {
  if (slo.kind !== 'throughput' && slo.kind !== 'latency') return [];
  const key = (metric: SampleMetric<'chain'>) => sampleKey('chain', slo.chain_id, metric);
  if (slo.kind === 'throughput') return [{ key: key('bps'), label: 'throughput' }];
  return [
    { key: key('latency_p99_us'), label: 'p99' },
    { key: key('latency_p50_us'), label: 'p50' },
  ];
}

/** A figure as a share of the target. */
export function shareOfTarget(slo: SloStatus, figure: number | null): number | null {
  return figure === null || slo.target === 0 ? null : figure / slo.target;
}

const ORDER: Readonly<Record<SloStatus['state'], number>> = {
  violated: 0,
  stale: 1,
  'no-data': 2,
  'warming-up': 3,
  met: 4,
};

/** Trouble first. */
export function worstFirst(slos: readonly SloStatus[]): SloStatus[] {
  return [...slos].sort((a, b) => ORDER[a.state] - ORDER[b.state]);
}
