import type { Reconfiguration } from '@orrery/contract';
import { Link } from 'react-router';
import { countText } from '../../shared/format/number.js';
import { quantityText } from '../../shared/format/quantity.js';
import { dateTimeText, durationText } from '../../shared/format/time.js';
import { useNow } from '../../shared/stream/clock.js';
import type { Column } from '../../shared/table/column.js';
import { DataTable } from '../../shared/table/data-table.js';
import { DetailPanel, DetailSection, Facts } from '../../shared/ui/detail-panel.js';
import { StepBadge } from '../../shared/ui/step-badge.js';
import classes from './accelerators.module.css';
import { slotText } from './nfs.js';
import { Moves, ReconfigurationBadge } from './reconfiguration-table.js';
import { StageBar } from './stage-bar.js';
import { causeText, loadedNothing, packetsLostText, reconfigurationMs, STAGE_NAMES, STAGE_WORDS } from './stages.js';

interface ReconfigurationDetailProps {
  readonly reconfiguration: Reconfiguration;
  readonly onClose: () => void;
}

/** Loads have no identity but their order. */
type Load = Reconfiguration['loads'][number] & { readonly index: number };

const LOAD_COLUMNS: readonly Column<Load>[] = [
  {
    id: 'load',
    title: 'Load',
    cell: ({ module, slot, kind, bytes, error }) => (
      <>
        {module ?? (slot === null ? 'the whole board' : 'nothing')}
        <span className={classes.small}>
          {kind}, {quantityText('bytes', bytes)}
        </span>
        {error && <span className={classes.trouble}>{error}</span>}
      </>
    ),
  },
  {
    id: 'modelled',
    title: 'Modelled',
    hint: 'Board time, from the profile of the board',
    number: true,
    cell: ({ modelled_s }) => durationText(modelled_s * 1000),
  },
  {
    id: 'measured',
    title: 'Measured',
    hint: 'Wall-clock time for which the slot was paused',
    number: true,
    cell: ({ measured_s }) => durationText(measured_s * 1000),
  },
  {
    id: 'frames',
    title: 'Frames during the load',
    cell: ({ held, lost, bypassed }) =>
      `${countText(held)} held, ${countText(lost)} lost, ${countText(bypassed)} bypassed`,
  },
];

export function ReconfigurationDetail({ reconfiguration, onClose }: ReconfigurationDetailProps) {
  const now = useNow();
  const { id, state, cause, trigger, slot, load, policy, moves, stages, loads, detail } = reconfiguration;
  const failed = state !== 'completed' && state !== 'running';
  return (
    <DetailPanel label={`Reconfiguration ${id}`} title="Reconfiguration" onClose={onClose}>
      {detail && (
        <div className={classes.failure} role={failed ? 'alert' : 'note'}>
          {detail}
        </div>
      )}
      <Facts
        items={[
          ['Result', <ReconfigurationBadge key="state" state={state} />],
          ['Moves', <Moves key="moves" moves={moves} />],
          ['Cause', causeText(cause)],
          ['Trigger', trigger],
          ['Slot', slot ? slotText(slot) : 'none'],
          [
            'Load',
            loadedNothing(reconfiguration)
              ? '–'
              : load === 'full'
                ? 'full: the whole board is down during the load'
                : `${load}, frames during the load: ${policy}`,
          ],
          ['Took', durationText(reconfigurationMs(reconfiguration, now))],
          ['Packets lost', packetsLostText(reconfiguration)],
          ['Started', dateTimeText(reconfiguration.started_ms)],
          [
            'Events',
            <Link key="events" to={`/events?q=${encodeURIComponent(id)}`}>
              of this reconfiguration
            </Link>,
          ],
        ]}
      />
      <DetailSection title="Stages">
        <StageBar reconfiguration={reconfiguration} now={now} />
        <ol className={classes.stages}>
          {stages.map(({ stage, state, started_ms, ended_ms, detail, operation_id }) => (
            <li key={stage}>
              <span className={classes.stageHead}>
                <StepBadge state={state} lasting={ended_ms !== null} />
                <strong>{STAGE_NAMES[stage]}</strong>
                <span className="muted tabular">
                  {started_ms === null ? state : durationText((ended_ms ?? now) - started_ms)}
                </span>
              </span>
              <span className={classes.small}>{detail || STAGE_WORDS[stage]}</span>
              {operation_id && (
                <Link to={`/operations?op=${encodeURIComponent(operation_id)}`} className={classes.stageLink}>
                  Its operation
                </Link>
              )}
            </li>
          ))}
        </ol>
      </DetailSection>
      {loads.length > 0 && (
        <DetailSection title="Loads">
          <DataTable
            label="Loads"
            cards={480}
            columns={LOAD_COLUMNS}
            rows={loads.map((each, index) => ({ ...each, index }))}
            rowKey={({ index }) => String(index)}
          />
        </DetailSection>
      )}
    </DetailPanel>
  );
}
