import type { LendingGroup } from '@orrery/contract';
import { sampleKey } from '@orrery/contract/sample-keys';
import type { ChartSeries } from '../../shared/charts/chart-series.js';
import type { ChartLevel } from '../../shared/charts/marks.js';
import { MOST_SERIES } from './nfs.js';

type Member = LendingGroup['members'][number];

/** What a chart shows of every VNF. */
type VnfMetric = 'cpu' | 'bps';

/** VNFs in their order, as many at a time as a chart can distinguish. */
export function pagesOf(members: readonly Member[]): (readonly Member[])[] {
  const count = Math.ceil(members.length / MOST_SERIES);
  return Array.from({ length: count }, (_, page) => members.slice(page * MOST_SERIES, (page + 1) * MOST_SERIES));
}

/** `1 to 6 of 8` */
export function pageText(page: number, count: number): string {
  return `${page * MOST_SERIES + 1} to ${Math.min(count, (page + 1) * MOST_SERIES)} of ${count}`;
}

/** CPU is a share of the VNF's limit, as thresholds are. Where slots are lent, another instance of the NF runs in them. */
export function seriesOf(
  members: readonly Member[],
  metric: VnfMetric,
  { accelerators }: Pick<LendingGroup, 'accelerators'>,
): ChartSeries[] {
  const lendsSlots = accelerators.some(({ kind }) => kind === 'slot');
  return members.map(({ instance_id: id, cpu_limit }) => ({
    key: lendsSlots ? sampleKey('nf', id.slice(0, id.lastIndexOf('.')), metric) : sampleKey('instance', id, metric),
    label: id,
    ...(metric === 'cpu' && cpu_limit !== null && { full: cpu_limit }),
  }));
}

/** The thresholds that the strategy heeds, in the chart of what the usage of the group is a share of. */
export function thresholdLevels(group: LendingGroup, metric: VnfMetric): ChartLevel[] {
  const { strategy, usage, max_bps, th_up, th_low } = group;
  const full = metric === 'cpu' ? 1 : max_bps;
  if (metric !== usage || full === null || strategy === 'round-robin') return [];
  const up: ChartLevel = { value: th_up * full, sign: '↑', name: 'qualifies', series: null };
  if (strategy === 'static') return [up];
  return [up, { value: th_low * full, sign: '↓', name: 'gives up', series: null }];
}

/** What the values and the dashed levels of a chart mean. */
export function chartNote(metric: VnfMetric, levels: readonly ChartLevel[]): string | null {
  const shares = metric === 'cpu' ? 'Shares of each VNF’s CPU limit, or of a core where it has none.' : '';
  if (levels.length === 0) return shares || null;
  const low = levels.length > 1 ? ', below ↓ a holder gives up' : '';
  const usage = metric === 'cpu' ? ' Of an accelerated VNF its usage is compared, which the table tells.' : '';
  return `${shares} Above ↑ a VNF qualifies${low}.${usage}`.trimStart();
}

/** Why there is no CPU to be measured of VNFs; undefined: there is. */
export function whyNoCpu(members: readonly Member[]): string | undefined {
  return members.every(({ slot }) => slot !== null) ? 'No CPU of a server is used in the slots of boards' : undefined;
}
