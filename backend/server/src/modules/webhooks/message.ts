import { createHmac, randomBytes } from 'node:crypto';
import type { Event, Severity } from '@orrery/contract';
import { EVENTS, kindOfEvent } from '@orrery/contract';
import type { StoredWebhook } from './stored.js';

const SECRET_PREFIX = 'whsec_';
const SECRET_BYTES = 32;
const RANK: Readonly<Record<Severity, number>> = { info: 0, warning: 1, error: 2 };

/** What is sent to a receiver. */
export interface Message {
  /** The same in every attempt to send it. */
  readonly id: string;
  readonly body: string;
}

/** Key of the signatures, as Standard Webhooks 1.0.0 writes it. */
export function newSecret(): string {
  return `${SECRET_PREFIX}${randomBytes(SECRET_BYTES).toString('base64')}`;
}

/**
 * Whether the webhook asks for the event: those of the types chosen, or else all of a severity. What happens to webhooks is sent to
 * none: failures would make messages without end.
 */
export function wants(hook: Pick<StoredWebhook, 'least_severity' | 'types'>, event: Event): boolean {
  if (kindOfEvent(event.type) === 'webhook') return false;
  return hook.types.length > 0 ? hook.types.includes(event.type) : RANK[event.severity] >= RANK[hook.least_severity];
}

export function messageOf(hookId: string, event: Event): Message {
  const { title } = EVENTS[event.type];
  return {
    id: `${hookId}.${event.id}`,
    body: JSON.stringify({ type: event.type, timestamp: new Date(event.t_ms).toISOString(), title, data: event }),
  };
}

/** `t_ms`: the time that it is sent at. */
export function testMessage(hookId: string, t_ms: number): Message {
  const timestamp = new Date(t_ms).toISOString();
  return {
    id: `${hookId}.test-${t_ms}`,
    body: JSON.stringify({ type: 'webhook.test', timestamp, title: 'Test', data: { webhook_id: hookId } }),
  };
}

/** Header fields by which a receiver knows the message and its sender (Standard Webhooks 1.0.0). */
export function signedHeaders({ id, body }: Message, secret: string, sentS: number): Record<string, string> {
  const key = Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64');
  const signature = createHmac('sha256', key).update(`${id}.${sentS}.${body}`).digest('base64');
  return {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': String(sentS),
    'webhook-signature': `v1,${signature}`,
  };
}
