import type { Loop } from '@orrery/contract';
import { durationText } from '../../shared/format/time.js';
import type { Column } from '../../shared/table/column.js';
import { RelativeTime } from '../../shared/ui/relative-time.js';
import { type Status, StatusBadge } from '../../shared/ui/status-badge.js';
import { SubjectLink } from '../../shared/ui/subject-link.js';
import classes from './control-loops.module.css';
import { PauseButton } from './pause-button.js';

const STATUS: Readonly<Record<Loop['state'], Status>> = {
  running: 'healthy',
  'backing-off': 'degraded',
  paused: 'stale',
};

/** Reason for its state: who paused it, or the error of its last run. */
export function stateDetail({ state, paused, failures, last_error }: Loop): string | null {
  if (paused) return `by ${paused.by}`;
  if (state !== 'backing-off') return null;
  return `${failures} ${failures === 1 ? 'run' : 'runs'} failed: ${last_error ?? 'unknown error'}`;
}

export function nextRun({ state, at_work, next_run_ms }: Loop, now: number): string {
  if (state === 'paused') return 'when resumed';
  if (at_work.length > 0) return 'now';
  if (next_run_ms === null) return 'on a change';
  return next_run_ms - now < 1000 ? 'now' : `in ${durationText(next_run_ms - now)}`;
}

/** `titleOf` gives the title of a subject that has one, else its id. */
export function loopColumns(
  now: number,
  mayPause: boolean,
  titleOf: (subject: string) => string,
): readonly Column<Loop>[] {
  return [
    {
      id: 'title',
      title: 'Loop',
      className: classes.loop,
      value: ({ title }) => title,
      cell: ({ title, purpose }) => (
        <>
          <strong>{title}</strong>
          <span className={classes.small}>{purpose}</span>
        </>
      ),
    },
    {
      id: 'state',
      title: 'State',
      className: classes.text,
      value: ({ state }) => state,
      cell: (loop) => (
        <>
          <StatusBadge state={loop.state} status={STATUS[loop.state]} />
          <span className={classes.small}>{stateDetail(loop)}</span>
        </>
      ),
    },
    {
      id: 'decision',
      title: 'Last decision',
      className: classes.text,
      value: ({ last_decision }) => last_decision?.what,
      cell: ({ last_decision }) =>
        last_decision ? (
          <>
            {last_decision.what}
            <span className={classes.small}>
              <RelativeTime t_ms={last_decision.at_ms} />: {last_decision.why}
            </span>
          </>
        ) : (
          <span className="muted">none yet</span>
        ),
    },
    {
      id: 'subject',
      title: 'About',
      className: classes.text,
      value: ({ last_decision }) => last_decision && titleOf(last_decision.subject),
      cell: ({ last_decision }) => last_decision && <SubjectLink subject={last_decision.subject} />,
    },
    {
      id: 'last-run',
      title: 'Last run',
      value: ({ last_run_ms }) => last_run_ms,
      className: classes.last,
      cell: ({ last_run_ms }) =>
        last_run_ms === null ? <span className="muted">never</span> : <RelativeTime t_ms={last_run_ms} />,
    },
    { id: 'next-run', title: 'Next run', className: classes.next, value: (loop) => nextRun(loop, now) },
    { id: 'runs', title: 'Runs', hint: 'Since the server started', number: true, value: ({ runs }) => runs },
    {
      id: 'actions',
      title: 'Actions',
      untitled: true,
      cell: (loop) => <PauseButton loop={loop} mayPause={mayPause} />,
    },
  ];
}
