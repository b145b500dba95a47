import { SegmentedControl } from '@mantine/core';
import type { Accelerator, NfInstance, Reconfiguration, ReconfigurationPolicy } from '@orrery/contract';
import { sampleKey } from '@orrery/contract/sample-keys';
import { useRecentRange } from '../../shared/charts/time-range.js';
import { TimeSeriesChart } from '../../shared/charts/time-series-chart.js';
import { Panel } from '../../shared/page/page-header.js';
import { useCutSince } from '../../shared/stream/hooks.js';
import { EmptyState } from '../../shared/ui/states.js';
import { useUrlParam } from '../../shared/ui/url-state.js';
import classes from './accelerators.module.css';
import { deliveredSeries } from './executors.js';
import { LaneView } from './lane-view.js';
import type { Lane } from './lanes.js';
import { type BoardNf, chartedNfs, goneNfs, sameNf } from './nfs.js';
import { bandsOf } from './stages.js';

/** The longest window that can be chosen: as long as the server keeps samples. */
export const LONGEST_S = 600;
const WINDOWS = [
  { value: '', label: '2 min', seconds: 120 },
  { value: '5', label: '5 min', seconds: 300 },
  { value: '10', label: '10 min', seconds: LONGEST_S },
];
const METRICS = [
  { value: '', label: 'bit/s', metric: 'bps', quantity: 'bps', title: 'Load of NFs' },
  { value: 'delivered', label: 'Delivered', metric: 'out_bps', quantity: 'bps', title: 'Throughput of each executor' },
  { value: 'pps', label: 'pkt/s', metric: 'pps', quantity: 'pps', title: 'Packets of NFs' },
  { value: 'cpu', label: 'CPU', metric: 'cpu', quantity: 'share', title: 'CPU cores used by NFs' },
] as const;

interface TimelineProps {
  readonly boards: readonly Accelerator[];
  /** Null: not known yet. */
  readonly nfs: readonly BoardNf[] | null;
  readonly instances: readonly NfInstance[];
  readonly lanes: readonly Lane[];
  readonly policies: readonly ReconfigurationPolicy[];
  readonly reconfigurations: readonly Reconfiguration[];
  readonly emulated: boolean;
}

/** Load of each NF above the activity of each board slot, on one time axis (CoNFV Figures 9 and 10, live). */
export function Timeline({ boards, nfs, instances, lanes, policies, reconfigurations, emulated }: TimelineProps) {
  const [windowParam, setWindow] = useUrlParam('window');
  const [metricParam, setMetric] = useUrlParam('metric');
  const { seconds } = WINDOWS.find(({ value }) => value === windowParam) ?? WINDOWS[0]!;
  const { metric, quantity, title } = METRICS.find(({ value }) => value === metricParam) ?? METRICS[0];
  const range = useRecentRange(seconds);
  // Events arrive live: the state is unknown for the time without a connection.
  const lost_ms = useCutSince();
  const gone = nfs === null ? [] : goneNfs(lanes, nfs, range.from_s * 1000);
  const watched = policies.map(({ nf }) => nf);
  const shown = chartedNfs(nfs ?? [], watched, gone);
  const levels = shown.flatMap((nf) =>
    policies
      .filter((policy) => policy.enabled && policy.threshold.metric === metric && sameNf(policy.nf, nf))
      .flatMap(({ threshold: { up, down } }) => [
        { value: up, sign: '↑' as const, name: nf.id, series: nf.color },
        { value: down, sign: '↓' as const, name: nf.id, series: nf.color },
      ]),
  );
  const left = (nfs ?? []).length + gone.length - shown.length;
  return (
    <Panel
      title="Load and boards"
      actions={
        <>
          <SegmentedControl
            aria-label="Measure"
            value={metricParam}
            onChange={setMetric}
            data={METRICS.map(({ value, label }) => ({ value, label }))}
          />
          <SegmentedControl
            aria-label="Time window"
            value={windowParam}
            onChange={setWindow}
            data={WINDOWS.map(({ value, label }) => ({ value, label }))}
          />
        </>
      }
    >
      {shown.length > 0 ? (
        <TimeSeriesChart
          title={title}
          quantity={quantity}
          series={
            metric === 'out_bps'
              ? deliveredSeries(shown, instances, reconfigurations, metric, Math.floor(range.from_s) * 1000)
              : shown.map((nf) => ({ key: sampleKey('nf', nf.id, metric), label: `${nf.id} (${nf.where})` }))
          }
          windowS={seconds}
          keepS={LONGEST_S}
          height={190}
          range={range}
          levels={levels}
          bands={bandsOf(reconfigurations, lost_ms ?? range.to_s * 1000)}
          emulated={emulated}
          note={`Dashed levels: thresholds of policies, up to a board and down to software. Shaded: reconfigurations.${
            left > 0 ? ` ${left} more ${left === 1 ? 'NF is' : 'NFs are'} not drawn.` : ''
          }`}
        />
      ) : (
        <EmptyState title="No running chain has an NF that a board could run">
          NFs with a board implementation are marked in the catalogue. Their load appears here as soon as one is
          deployed.
        </EmptyState>
      )}
      <LaneView
        boards={boards}
        lanes={lanes}
        nfs={shown}
        reconfigurations={reconfigurations}
        range={range}
        lost_ms={lost_ms}
        className={classes.lanes}
      />
    </Panel>
  );
}
