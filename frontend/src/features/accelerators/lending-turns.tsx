import { SegmentedControl, Select } from '@mantine/core';
import type { LendingGroup } from '@orrery/contract';
import { useLendingTurns } from '../../shared/api/queries.js';
import { useRecentRange } from '../../shared/charts/time-range.js';
import { TimeSeriesChart } from '../../shared/charts/time-series-chart.js';
import { Panel } from '../../shared/page/page-header.js';
import { useCutSince } from '../../shared/stream/hooks.js';
import { LastKnown } from '../../shared/ui/last-known.js';
import { EmptyState, QueryBoundary } from '../../shared/ui/states.js';
import { useUrlParam } from '../../shared/ui/url-state.js';
import classes from './accelerators.module.css';
import { chartNote, pagesOf, pageText, seriesOf, thresholdLevels, whyNoCpu } from './lending-charts.js';
import { LendingLanes } from './lending-lanes.js';

const WINDOWS = [
  { value: '', label: '2 min', seconds: 120 },
  { value: '5', label: '5 min', seconds: 300 },
  { value: '10', label: '10 min', seconds: 600 },
];
const LONGEST_S = 600;

/** %CPU and bit rate of every VNF above the holders, on one time axis (SSM Figures 5 and 6, live). */
export function LendingTurns({ group }: { readonly group: LendingGroup }) {
  const [windowParam, setWindow] = useUrlParam('turns');
  const { seconds } = WINDOWS.find(({ value }) => value === windowParam) ?? WINDOWS[0]!;
  const range = useRecentRange(seconds);
  const turns = useLendingTurns(group.id, LONGEST_S);
  // Turns are told by events: they are unknown for the time without a connection.
  const lost_ms = useCutSince();
  const pages = pagesOf(group.members);
  const [pageParam, setPage] = useUrlParam('vnfs');
  const page = pages[Number(pageParam)] ? Number(pageParam) : 0;
  const shown = pages[page] ?? [];
  const charted = shown.map(({ instance_id }) => instance_id);
  const emulated = group.members.some(({ origin }) => origin === 'twin');
  return (
    <Panel
      title={`Turns of ${group.title}`}
      actions={
        <>
          {pages.length > 1 && (
            <Select
              aria-label="VNFs drawn"
              w={140}
              value={String(page)}
              onChange={(value) => setPage(value === '0' ? null : value)}
              data={pages.map((_, at) => ({ value: String(at), label: pageText(at, group.members.length) }))}
            />
          )}
          <SegmentedControl
            aria-label="Time window of turns"
            value={windowParam}
            onChange={setWindow}
            data={WINDOWS.map(({ value, label }) => ({ value, label }))}
          />
        </>
      }
    >
      <p className={classes.lentFigures}>
        <LastKnown>{figuresText(group)}</LastKnown>
      </p>
      {charted.length === 0 ? (
        <EmptyState title="No VNF of this group runs">
          {group.enabled
            ? 'NFs that can use one of its accelerators take part as soon as their chain is deployed.'
            : 'The group is disabled, and none of its NFs runs.'}
        </EmptyState>
      ) : (
        (['cpu', 'bps'] as const).map((metric) => {
          const levels = thresholdLevels(group, metric);
          return (
            <TimeSeriesChart
              key={metric}
              title={metric === 'cpu' ? 'CPU of VNFs' : 'Bit rate of VNFs'}
              quantity={metric === 'cpu' ? 'share' : 'bps'}
              series={seriesOf(shown, metric, group)}
              levels={levels}
              windowS={seconds}
              keepS={LONGEST_S}
              height={140}
              range={range}
              emulated={emulated}
              note={chartNote(metric, levels)}
              nothing={metric === 'cpu' ? whyNoCpu(shown) : undefined}
            />
          );
        })
      )}
      <QueryBoundary query={turns}>
        <LendingLanes
          accelerators={group.accelerators_now}
          turns={turns.data ?? []}
          charted={charted}
          range={range}
          lost_ms={lost_ms}
        />
      </QueryBoundary>
      {group.turns_dropped > 0 && (
        <p className={classes.lentFigures}>
          {group.turns_dropped} earlier {group.turns_dropped === 1 ? 'turn is' : 'turns are'} no longer kept.
        </p>
      )}
    </Panel>
  );
}

/** `Jain’s index 0.998; a hand-over takes 12.0 ms (median of 20), 0.11 % of the time with slices of 11 s.` */
export function figuresText({ fairness, switch_ms, switches, overhead, slice_s }: LendingGroup): string {
  const fair =
    fairness === null ? 'Fairness is known once two VNFs wanted an accelerator' : `Jain’s index ${fairness.toFixed(3)}`;
  const switching =
    switch_ms === null || overhead === null
      ? 'nothing was handed over yet'
      : `a hand-over takes ${switch_ms.toFixed(1)} ms (${switches === 1 ? 'one so far' : `median of ${switches}`}), ${(overhead * 100).toFixed(2)} % of the time with slices of ${slice_s} s`;
  return `${fair}; ${switching}.`;
}
