import type { Reconfiguration } from '@orrery/contract';
import { Link } from 'react-router';
import { quantityText } from '../../shared/format/quantity.js';
import { dateTimeText, durationText } from '../../shared/format/time.js';
import { useNow } from '../../shared/stream/clock.js';
import { DetailPanel, DetailSection, Facts } from '../../shared/ui/detail-panel.js';
import { StatusBadge } from '../../shared/ui/status-badge.js';
import classes from './accelerators.module.css';
import { slotText } from './nfs.js';
import { Moves, ReconfigurationBadge } from './reconfiguration-table.js';
import { StageBar } from './stage-bar.js';
import { causeText, packetsLostText, reconfigurationMs, STAGE_NAMES, STAGE_WORDS } from './stages.js';

interface ReconfigurationDetailProps {
  readonly reconfiguration: Reconfiguration;
  readonly onClose: () => void;
}

export function ReconfigurationDetail({ reconfiguration, onClose }: ReconfigurationDetailProps) {
  const now = useNow();
  const { id, state, cause, trigger, slot, load, policy, moves, stages, loads, detail } = reconfiguration;
  const failed = state !== 'completed' && state !== 'running';
  return (
    <DetailPanel label={`Reconfiguration ${id}`} title="Reconfiguration" onClose={onClose}>
      {detail && failed && (
        <div className={classes.failure} role="alert">
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
            load === 'full' ? 'full: the board is off the network meanwhile' : `${load}, frames meanwhile: ${policy}`,
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
                <StatusBadge state={state} status={state === 'running' ? 'working' : undefined} compact />
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
          <table className="table" aria-label="Loads">
            <thead>
              <tr>
                <th>What</th>
                <th className="number" title="Board time, by the profile of the board">
                  Modelled
                </th>
                <th className="number" title="By the wall, from the freeze to the thaw">
                  Measured
                </th>
                <th>Frames meanwhile</th>
              </tr>
            </thead>
            <tbody>
              {loads.map((each, index) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: in the order in which they were done
                <tr key={index}>
                  <td>
                    {each.module ?? (each.slot === null ? 'the whole board' : 'nothing')}
                    <span className={classes.small}>
                      {each.kind}, {quantityText('bytes', each.bytes)}
                    </span>
                    {each.error && <span className={classes.trouble}>{each.error}</span>}
                  </td>
                  <td className="number">{durationText(each.modelled_s * 1000)}</td>
                  <td className="number">{durationText(each.measured_s * 1000)}</td>
                  <td>
                    {each.held.toLocaleString()} held, {each.lost.toLocaleString()} lost,{' '}
                    {each.bypassed.toLocaleString()} bypassed
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </DetailSection>
      )}
    </DetailPanel>
  );
}
