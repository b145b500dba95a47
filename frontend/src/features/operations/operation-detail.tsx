import type { Operation } from '@orrery/contract';
import { Link } from 'react-router';
import { operationTrouble, stepText } from '../../shared/format/operation.js';
import { dateTimeText, durationText } from '../../shared/format/time.js';
import { useNow } from '../../shared/stream/clock.js';
import { DetailSection, Facts } from '../../shared/ui/detail-panel.js';
import { OperationBadge } from '../../shared/ui/operation-badge.js';
import { StepBadge } from '../../shared/ui/step-badge.js';
import { OperationActions } from './operation-actions.js';
import classes from './operations.module.css';
import { durationMs, stepBars } from './progress.js';

interface OperationDetailProps {
  readonly operation: Operation;
  readonly titleOf: (chainId: string) => string;
}

export function OperationDetail({ operation, titleOf }: OperationDetailProps) {
  const now = useNow();
  const bars = stepBars(operation, now);
  const trouble = operationTrouble(operation);
  return (
    <>
      {trouble && (
        <div className={classes.failure} role="alert">
          {trouble.detail}
          {trouble.errors.length > 0 && (
            <ul>
              {trouble.errors.map(({ pointer, detail }) => (
                <li key={`${pointer}${detail}`}>
                  <code>{pointer || '/'}</code> {detail}
                </li>
              ))}
            </ul>
          )}
        </div>
      )}
      <OperationActions operation={operation} titleOf={titleOf} />
      <Facts
        items={[
          ['State', <OperationBadge key="state" operation={operation} />],
          ['Duration', durationText(durationMs(operation, now))],
          [
            'First packet',
            operation.first_packet_ms === null
              ? 'none seen yet'
              : `after ${durationText(operation.first_packet_ms - operation.started_ms)}`,
          ],
          ['Started', dateTimeText(operation.started_ms)],
          ['By', operation.by],
          ['Operation', <code key="id">{operation.id}</code>],
          ['Plan', operation.plan_id ? <code key="plan">{operation.plan_id}</code> : 'none'],
          [
            'Events',
            <Link key="events" to={`/events?q=${encodeURIComponent(operation.id)}`}>
              of this operation
            </Link>,
          ],
        ]}
      />
      <DetailSection title={`Steps (${operation.steps.length})`}>
        <ol className={classes.steps}>
          {operation.steps.map((step, index) => {
            const bar = bars[index]!;
            return (
              <li key={step.ordinal} data-state={step.state}>
                <div className={classes.stepHead}>
                  <StepBadge state={step.state} lasting={step.ended_ms !== null} />
                  <span className={classes.stepText}>{stepText(step)}</span>
                  <span className="muted tabular">
                    {bar.duration_ms === null ? step.state : durationText(bar.duration_ms)}
                  </span>
                </div>
                <div className={classes.stepTrack}>
                  <span
                    className={classes.stepBar}
                    style={{ left: `${bar.offset * 100}%`, width: `${bar.length * 100}%` }}
                  />
                </div>
                {step.detail && <div className={classes.stepDetail}>{step.detail}</div>}
              </li>
            );
          })}
        </ol>
      </DetailSection>
    </>
  );
}
