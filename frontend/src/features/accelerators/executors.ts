import { type NfInstance, type Reconfiguration, type SampleMetric, sampleKey } from '@orrery/contract';
import type { ChartSeries } from '../../shared/charts/chart-series.js';
import { type ChartedNf, MOST_SERIES, sameNf } from './nfs.js';

/** `<NF>.0` in software, `<NF>.container-0` in a container, `<NF>.board-1-0` in a slot. */
function executorText(nf: string, instance: string): string {
  const which = instance.slice(nf.length + 1);
  const [, board, slot] = /^(.+)-(\d+)$/.exec(which) ?? [];
  if (board === 'container') return `container ${slot}`;
  return board === undefined ? `software ${which}` : `${board} slot ${slot}`;
}

/**
 * What each executor of the NFs passes on: those that run now, and those that moves since `fromMs` left or entered. Thus the
 * line of one that fails falls to zero, whatever still arrives at it.
 */
export function deliveredSeries(
  nfs: readonly ChartedNf[],
  instances: readonly NfInstance[],
  reconfigurations: readonly Reconfiguration[],
  metric: Extract<SampleMetric<'instance'>, 'out_bps' | 'out_pps'>,
  fromMs: number,
): ChartSeries[] {
  const recent = reconfigurations.filter(({ started_ms }) => started_ms >= fromMs);
  const executors = nfs.flatMap((nf) => {
    const running = instances.flatMap((each) => (sameNf(each, nf) ? [each.id] : []));
    const moved = recent
      .flatMap(({ moves }) => moves)
      .filter((move) => sameNf(move, nf))
      .flatMap(({ from, to }) => [from, to])
      .flatMap((place) => {
        if (place.on !== 'board') return [`${nf.id}.0`];
        return place.slot ? [`${nf.id}.${place.slot.board}-${place.slot.slot}`] : [];
      });
    return [...new Set([...running, ...moved])].map((id) => ({ id, label: `${nf.id} (${executorText(nf.id, id)})` }));
  });
  return executors
    .slice(0, MOST_SERIES)
    .map(({ id, label }): ChartSeries => ({ key: sampleKey('instance', id, metric), label }));
}
