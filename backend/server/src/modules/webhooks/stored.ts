import { Id, StreamId, WebhookAttempt, WebhookRequest } from '@orrery/contract';
import { z } from 'zod';
import type { CollectionDefinition } from '../../platform/durable-collection/definition.js';
import { KEYS } from '../../platform/redis-keys.js';

/** Each follows the whole event log. */
const MAX_WEBHOOKS = 16;

const StoredWebhook = z.strictObject({ ...WebhookRequest.shape, id: Id, secret: z.string() });
export type StoredWebhook = z.infer<typeof StoredWebhook>;

/** How far a webhook has come. */
const WebhookProgress = z.strictObject({
  id: Id,
  /** Every event up to this one is done with. */
  cursor: StreamId,
  delivered: z.int().min(0),
  refused: z.int().min(0),
  expired: z.int().min(0),
  has_gap: z.boolean(),
  last_attempt: WebhookAttempt.nullable(),
  /** The event that the receiver did not take yet, and for how long it was tried while a server ran. */
  waiting: z
    .strictObject({ event_id: StreamId, attempts: z.int().min(1), waited_s: z.number().min(0) })
    .nullable()
    .default(null),
});
export type WebhookProgress = z.infer<typeof WebhookProgress>;

export const STORED_WEBHOOKS: CollectionDefinition<StoredWebhook> = {
  key: KEYS.webhooks,
  noun: 'webhook',
  schema: StoredWebhook,
  version: 1,
  idOf: ({ id }) => id,
  bound: { most: MAX_WEBHOOKS, policy: 'refuse' },
};

export const STORED_PROGRESS: CollectionDefinition<WebhookProgress> = {
  key: KEYS.webhookProgress,
  noun: 'progress of a webhook',
  schema: WebhookProgress,
  version: 1,
  idOf: ({ id }) => id,
  bound: { most: MAX_WEBHOOKS, policy: 'refuse' },
};

export const startingAt = (id: string, cursor: string): WebhookProgress => ({
  id,
  cursor,
  delivered: 0,
  refused: 0,
  expired: 0,
  has_gap: false,
  last_attempt: null,
  waiting: null,
});
