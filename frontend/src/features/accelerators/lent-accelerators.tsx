import { Button, SegmentedControl } from '@mantine/core';
import type { LendingGroup } from '@orrery/contract';
import { sampleKey } from '@orrery/contract/sample-keys';
import { IconPlus } from '@tabler/icons-react';
import { lazy, Suspense, useState } from 'react';
import { useLendingGroups, useLendingTurns } from '../../shared/api/queries.js';
import { useMay } from '../../shared/api/session.js';
import { useRecentRange } from '../../shared/charts/time-range.js';
import { TimeSeriesChart } from '../../shared/charts/time-series-chart.js';
import { Panel } from '../../shared/page/page-header.js';
import { useStreamStatus } from '../../shared/stream/hooks.js';
import { LastKnown } from '../../shared/ui/last-known.js';
import { EmptyState, QueryBoundary } from '../../shared/ui/states.js';
import { useUrlParam } from '../../shared/ui/url-state.js';
import classes from './accelerators.module.css';
import { LendingLanes } from './lending-lanes.js';
import { LendingTable } from './lending-table.js';
import { MemberTable } from './member-table.js';
import { MOST_SERIES } from './nfs.js';

const LendingForm = lazy(() => import('./lending-form.js'));

const WINDOWS = [
  { value: '', label: '2 min', seconds: 120 },
  { value: '5', label: '5 min', seconds: 300 },
  { value: '10', label: '10 min', seconds: 600 },
];
const LONGEST_S = 600;

/** Accelerators that VNFs take turns at (SSM): groups, and who held what when. */
export function LentAccelerators() {
  const groups = useLendingGroups();
  const mayOperate = useMay('operator');
  const [selectedId, select] = useUrlParam('group');
  const [edited, setEdited] = useState<LendingGroup | 'new' | null>(null);
  const selected = groups.data?.find(({ id }) => id === selectedId) ?? groups.data?.[0];
  return (
    <div className={classes.lent}>
      <Panel
        title="Lent accelerators"
        actions={
          <Button
            leftSection={<IconPlus size={14} />}
            disabled={!mayOperate}
            title={mayOperate ? undefined : 'Needs the role operator'}
            onClick={() => setEdited('new')}
          >
            New lending group
          </Button>
        }
      >
        <QueryBoundary query={groups}>
          <LendingTable
            groups={groups.data ?? []}
            selectedId={selected?.id ?? null}
            onSelect={select}
            onEdit={setEdited}
          />
        </QueryBoundary>
      </Panel>
      {selected && <Turns key={selected.id} group={selected} />}
      {selected && selected.members.length > 0 && (
        <Panel title={`VNFs of ${selected.title}`}>
          <MemberTable members={selected.members} />
        </Panel>
      )}
      <Suspense fallback={null}>
        {edited && <LendingForm group={edited === 'new' ? null : edited} onClose={() => setEdited(null)} />}
      </Suspense>
    </div>
  );
}

/** %CPU and bit rate of every VNF above the holders, on one time axis (SSM Figures 5 and 6, live). */
function Turns({ group }: { readonly group: LendingGroup }) {
  const [windowParam, setWindow] = useUrlParam('turns');
  const { seconds } = WINDOWS.find(({ value }) => value === windowParam) ?? WINDOWS[0]!;
  const range = useRecentRange(seconds);
  const turns = useLendingTurns(group.id, LONGEST_S);
  // Turns are told by events: they are unknown for the time without a connection.
  const lost_ms = useStreamStatus(({ state, since_ms }) => (state === 'reconnecting' ? since_ms : null));
  const charted = group.members.slice(0, MOST_SERIES).map(({ instance_id }) => instance_id);
  const left = group.members.length - charted.length;
  const emulated = group.members.some(({ origin }) => origin === 'twin');
  const lendsSlots = group.accelerators.some(({ kind }) => kind === 'slot');
  // In a slot runs another instance of the NF.
  const keyOf = (id: string, metric: 'cpu' | 'bps') =>
    lendsSlots ? sampleKey('nf', id.slice(0, id.lastIndexOf('.')), metric) : sampleKey('instance', id, metric);
  const series = (metric: 'cpu' | 'bps') => charted.map((id) => ({ key: keyOf(id, metric), label: id }));
  return (
    <Panel
      title={`Turns of ${group.title}`}
      actions={
        <SegmentedControl
          aria-label="Time window of turns"
          value={windowParam}
          onChange={setWindow}
          data={WINDOWS.map(({ value, label }) => ({ value, label }))}
        />
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
        (['cpu', 'bps'] as const).map((metric) => (
          <TimeSeriesChart
            key={metric}
            title={metric === 'cpu' ? 'CPU of VNFs' : 'Bit rate of VNFs'}
            quantity={metric === 'cpu' ? 'share' : 'bps'}
            series={series(metric)}
            windowS={seconds}
            keepS={LONGEST_S}
            height={140}
            range={range}
            emulated={emulated}
            note={metric === 'bps' && left > 0 ? `${left} more ${left === 1 ? 'VNF is' : 'VNFs are'} not drawn.` : null}
          />
        ))
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
