import { EVENTS, type Webhook } from '@orrery/contract';
import { durationText } from '../../shared/format/time.js';
import type { Column } from '../../shared/table/column.js';
import { RelativeTime } from '../../shared/ui/relative-time.js';
import { type Status, StatusBadge } from '../../shared/ui/status-badge.js';
import { attemptText } from './webhook-actions.js';
import { SEVERITY_WORDS } from './webhook-fields.js';
import classes from './webhooks.module.css';

const STATUS: Readonly<Record<Webhook['state'], Status>> = {
  idle: 'healthy',
  retrying: 'degraded',
  paused: 'stale',
  disabled: 'idle',
};

/** What there is to say of its state; null: nothing. */
export function stateDetail({ state, attempts, retry_in_s, has_gap }: Webhook): string | null {
  if (state === 'retrying') {
    const next = retry_in_s === null || retry_in_s < 1 ? 'now' : `in ${durationText(1000 * retry_in_s)}`;
    return `${attempts} failed ${attempts === 1 ? 'attempt' : 'attempts'}, the next ${next}`;
  }
  if (state === 'paused') return 'the control loop is paused';
  return has_gap ? 'events are missing: the log was trimmed before they were sent' : null;
}

/** Which events it asks for, in words. */
export function wantedText({ least_severity, types }: Pick<Webhook, 'least_severity' | 'types'>): string {
  const [first] = types;
  if (first === undefined) return SEVERITY_WORDS[least_severity];
  return types.length > 1 ? `events of ${types.length} types` : EVENTS[first].title;
}

export const WEBHOOK_COLUMNS: readonly Column<Webhook>[] = [
  {
    id: 'webhook',
    title: 'Webhook',
    value: ({ title }) => title,
    className: classes.webhook,
    cell: ({ title, url }) => (
      <>
        <strong>{title}</strong>
        <span className={classes.small}>{url}</span>
      </>
    ),
  },
  { id: 'events', title: 'Sends', className: classes.text, value: wantedText },
  {
    id: 'state',
    title: 'State',
    className: classes.text,
    value: ({ state }) => state,
    cell: (webhook) => (
      <>
        <StatusBadge state={webhook.state} status={STATUS[webhook.state]} />
        <span className={classes.small}>{stateDetail(webhook)}</span>
      </>
    ),
  },
  {
    id: 'last',
    title: 'Last attempt',
    className: classes.text,
    value: ({ last_attempt }) => last_attempt?.at_ms,
    cell: ({ last_attempt }) =>
      last_attempt ? (
        <>
          <RelativeTime t_ms={last_attempt.at_ms} />
          <span className={classes.small}>{attemptText(last_attempt)}</span>
        </>
      ) : (
        <span className="muted">none yet</span>
      ),
  },
  { id: 'delivered', title: 'Received', number: true, value: ({ delivered }) => delivered },
  {
    id: 'given-up',
    title: 'Given up',
    hint: 'Refused by the receiver, or not received within a day',
    number: true,
    value: ({ refused, expired }) => refused + expired,
  },
];
