import type { Operation } from '@orrery/contract';
import { cancelledText, operationTitle, operationTrouble } from '../../shared/format/operation.js';
import { durationText } from '../../shared/format/time.js';
import type { Column } from '../../shared/table/column.js';
import { OperationBadge } from '../../shared/ui/operation-badge.js';
import { RelativeTime } from '../../shared/ui/relative-time.js';
import classes from './operations.module.css';
import { durationMs, progressOf, waitOf } from './progress.js';

function ProgressBar({ operation }: { readonly operation: Operation }) {
  const { done, total, failed, share } = progressOf(operation);
  return (
    <span className={classes.progress}>
      <span className={classes.track} data-failed={failed > 0 || undefined}>
        <span style={{ width: `${share * 100}%` }} />
      </span>
      <span className="muted tabular">{operation.state === 'ROLLED_BACK' ? 'rolled back' : `${done} of ${total}`}</span>
    </span>
  );
}

const firstPacketMs = ({ first_packet_ms, started_ms }: Operation) =>
  first_packet_ms === null ? null : first_packet_ms - started_ms;

/** `now_ms` is that of the server; running operations last until then. */
export function operationColumns(titleOf: (id: string) => string, now_ms: number): readonly Column<Operation>[] {
  return [
    {
      id: 'operation',
      title: 'Operation',
      value: (operation) => operationTitle(operation, titleOf),
      note: (operation) => {
        const trouble = operationTrouble(operation);
        if (trouble)
          return (
            <div className={classes.error} title={trouble.detail}>
              {trouble.detail}
            </div>
          );
        const wait = waitOf(operation);
        return wait && <div className={classes.wait}>{wait}</div>;
      },
    },
    {
      id: 'state',
      title: 'State',
      value: (operation) => cancelledText(operation) ?? operation.state,
      cell: (operation) => <OperationBadge operation={operation} />,
    },
    {
      id: 'steps',
      title: 'Steps',
      value: (operation) => progressOf(operation).share,
      cell: (operation) => <ProgressBar operation={operation} />,
    },
    {
      id: 'duration',
      title: 'Duration',
      number: true,
      value: (operation) => durationMs(operation, now_ms),
      cell: (operation) => durationText(durationMs(operation, now_ms)),
    },
    {
      id: 'first-packet',
      title: 'First packet',
      hint: 'Time from the start to the first packet through the whole chain',
      number: true,
      value: firstPacketMs,
      cell: (operation) => {
        const ms = firstPacketMs(operation);
        return ms === null ? <span className="muted">–</span> : durationText(ms);
      },
    },
    {
      id: 'started',
      title: 'Started',
      className: classes.started,
      value: ({ started_ms }) => started_ms,
      cell: ({ started_ms }) => <RelativeTime t_ms={started_ms} />,
    },
    { id: 'by', title: 'By', value: ({ by }) => by },
  ];
}
