import { randomUUID } from 'node:crypto';
import { EVENTS, Event, type EventDraft, isMarked, severityOf } from '@orrery/contract';
import type { Metrics } from '../../platform/metrics.js';
import { KEYS, PROJECT } from '../../platform/redis-keys.js';

/** Approximate length of the log; older events are trimmed. */
const EVENT_LOG_LENGTH = 100_000;

/** Fields of an entry as written to Redis; the nonce distinguishes a repeated write from a new event. */
export interface Entry {
  readonly nonce: string;
  readonly type: string;
  readonly body: string;
}

export function entryOf(draft: EventDraft): Entry {
  const body: Omit<Event, 'id'> = {
    t_ms: draft.t_ms ?? Date.now(),
    project: PROJECT,
    type: draft.type,
    severity: severityOf(draft.type, draft.data),
    subject: draft.subject,
    message: draft.message,
    actor: draft.actor ?? 'server',
    data: draft.data,
  };
  return { nonce: randomUUID(), type: draft.type, body: JSON.stringify(body) };
}

export function xaddArguments(entry: Entry): [string, 'MAXLEN', '~', number, '*', string, string, string, string] {
  return [KEYS.events, 'MAXLEN', '~', EVENT_LOG_LENGTH, '*', 'e', entry.body, 'n', entry.nonce];
}

/** An entry as Redis returns it: id and fields. */
export type StoredEntry = [id: string, fields: string[]];

/** Entries of another version that this one cannot read are skipped and counted. */
export function readEvents(entries: readonly StoredEntry[], metrics: Metrics): Event[] {
  return entries.flatMap(([id, fields]) => {
    const event = eventOf(id, fields);
    if (!event) metrics.eventsUnreadable.inc();
    return event ?? [];
  });
}

/** Whether charts mark the event of an entry, which costs less than reading it; true where that cannot be told. */
export function mayBeMarked([, fields]: StoredEntry): boolean {
  try {
    const told: Pick<Event, 'type' | 'severity'> = JSON.parse(fields[1] ?? '');
    return !Object.hasOwn(EVENTS, told.type) || isMarked(told);
  } catch {
    return true;
  }
}

function eventOf(id: string, fields: readonly string[]): Event | null {
  try {
    return Event.safeParse({ ...JSON.parse(fields[1] ?? ''), id }).data ?? null;
  } catch {
    return null;
  }
}
