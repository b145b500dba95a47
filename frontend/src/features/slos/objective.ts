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
  const percentile = percentileOf(slo, definition);
  return percentile === null ? 'Latency at most' : `p${percentile} latency at most`;
}

const KIND_TEXTS = {
  loss: 'Lost of the offered packets, at most',
  availability: 'Delivered of the offered packets, at least',
  'cpu-ratio': 'Ratio of CPU time',
  'packet-ratio': 'Ratio of packets',
  priority: 'Served while the class above waits, at most',
} as const;

/** Which percentile of the latency is judged; null: it is not known, or another kind of objective. */
function percentileOf(slo: SloStatus, definition: ChainDefinition | undefined): number | null {
  const declared = definition?.slos.find(({ id }) => id === slo.slo_id);
  return declared?.kind === 'latency' ? declared.percentile : null;
}

/** Latencies of a chain that are sampled. */
const SAMPLED = [
  { percentile: 99, metric: 'latency_p99_us' },
  { percentile: 50, metric: 'latency_p50_us' },
] as const;

/** Sample keys of the measured quantity; none of an objective between classes, and of loss and availability. */
export function objectiveSeries(
  slo: SloStatus,
  definition: ChainDefinition | undefined,
): { key: string; label: string }[] {
  if (slo.kind !== 'throughput' && slo.kind !== 'latency') return [];
  const key = (metric: SampleMetric<'chain'>) => sampleKey('chain', slo.chain_id, metric);
  if (slo.kind === 'throughput') return [{ key: key('bps'), label: 'throughput' }];
  const judged = percentileOf(slo, definition);
  return SAMPLED.map(({ percentile, metric }) => ({
    key: key(metric),
    label: `p${percentile}${judged === null || judged === percentile ? '' : ', not judged'}`,
  }));
}

/** What the line of the target is compared with. */
export function targetNote(slo: SloStatus, definition: ChainDefinition | undefined): string {
  const judged = percentileOf(slo, definition);
  if (judged === null || SAMPLED.some(({ percentile }) => percentile === judged))
    return 'The dashed red line is the target.';
  const where = slo.budget ? ', which is drawn below' : '';
  return `The dashed red line is the target of p${judged}${where}.`;
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

/** How objectives are, in a sentence; so many of them have an open alert. */
export function summaryText(slos: readonly Pick<SloStatus, 'state'>[], burning: number): string {
  const violated = slos.filter(({ state }) => state === 'violated').length;
  const unknown = slos.filter(({ state }) => state === 'stale' || state === 'no-data').length;
  const more = [
    ...(burning > 0 ? [`${burning} ${burning === 1 ? 'burns' : 'burn'} too fast`] : []),
    ...(unknown > 0 ? [`${unknown} ${unknown === 1 ? 'has' : 'have'} no current figures`] : []),
  ];
  return `${[violatedText(violated, slos.length), ...more].join('; ')}.`;
}

function violatedText(violated: number, all: number): string {
  if (all === 1) return `The only objective is ${violated === 0 ? 'not ' : ''}violated`;
  if (violated === 0) return `None of ${all} objectives is violated`;
  return `${violated} of ${all} objectives ${violated === 1 ? 'is' : 'are'} violated`;
}
