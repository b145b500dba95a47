import { randomUUID } from 'node:crypto';
import type { Event } from '@orrery/contract';
import { KEYS, PROJECT } from '../../platform/redis-keys.js';
import type { EventDraft } from '../../ports/event-log.js';

/** The log keeps about so many events; older ones are trimmed. */
export const EVENT_LOG_LENGTH = 100_000;

/** Fields of an entry as Redis takes them; the nonce tells a repeated write from a new event. */
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
    severity: draft.severity ?? 'info',
    subject: draft.subject,
    message: draft.message,
    actor: draft.actor ?? 'server',
    data: draft.data ?? {},
  };
  return { nonce: randomUUID(), type: draft.type, body: JSON.stringify(body) };
}

export function xaddArguments(entry: Entry): [string, 'MAXLEN', '~', number, '*', string, string, string, string] {
  return [KEYS.events, 'MAXLEN', '~', EVENT_LOG_LENGTH, '*', 'e', entry.body, 'n', entry.nonce];
}

export function eventOf(id: string, fields: readonly string[]): Event {
  return { id, ...(JSON.parse(fields[1]!) as Omit<Event, 'id'>) };
}
