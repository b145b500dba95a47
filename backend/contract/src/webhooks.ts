import { z } from 'zod';
import { Id, StreamId, TimestampMs } from './common.js';
import { Severity } from './events/declare.js';
import { EventType } from './events/event.js';

const webhookFields = {
  title: z.string().min(1).max(80).regex(/\S/, 'must not be blank'),
  url: z
    .url({ protocol: /^https?$/, error: 'must be an address that begins with http:// or https://' })
    .max(2000)
    .describe('receives each event as a POST; redirects are not followed'),
  least_severity: Severity.default('warning').describe('where no types are chosen: events below it are not sent'),
  types: z
    .array(EventType)
    .max(300)
    .default([])
    .describe('only events of these types, of whatever severity; empty: of every type'),
  enabled: z.boolean().default(true).describe('events of the time in which it is disabled are never sent'),
};

/** What is to be sent where. */
export const WebhookRequest = z.strictObject(webhookFields);
export type WebhookRequest = z.infer<typeof WebhookRequest>;

/** Outcome of one attempt to send an event. */
export const WebhookAttempt = z.strictObject({
  at_ms: TimestampMs,
  event_id: StreamId.nullable().describe('null: a test'),
  status: z.int().min(100).max(599).nullable().describe('of the response; null: there was none'),
  error: z.string().max(300).nullable().describe('why it failed; null: it was received'),
  took_ms: z.number().min(0),
});
export type WebhookAttempt = z.infer<typeof WebhookAttempt>;

export const Webhook = z.strictObject({
  id: Id,
  ...webhookFields,
  revision: z.int().min(1).describe('the ETag'),
  state: z
    .enum(['idle', 'retrying', 'paused', 'disabled'])
    .describe('`retrying`: the receiver does not answer, and events wait in order; `paused`: the control loop is'),
  attempts: z.int().min(0).describe('failed attempts in a row to send the event that waits'),
  retry_in_s: z.number().min(0).nullable().describe('until the next attempt; null: none is due'),
  delivered: z.int().min(0).describe('events that the receiver has answered with 2xx'),
  refused: z.int().min(0).describe('events given up because the receiver refused them (4xx)'),
  expired: z.int().min(0).describe('events given up after a day'),
  has_gap: z
    .boolean()
    .describe('since it was last changed, the event log was trimmed before it was sent in full: events are missing'),
  last_attempt: WebhookAttempt.nullable(),
});
export type Webhook = z.infer<typeof Webhook>;

export const WebhookSecret = z.strictObject({
  id: Id,
  secret: z.string().describe('with which messages are signed; not shown again'),
});
export type WebhookSecret = z.infer<typeof WebhookSecret>;
