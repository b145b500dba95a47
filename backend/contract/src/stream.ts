import { z } from 'zod';
import { StreamId } from './common.js';
import { Event } from './events/event.js';
import { LinkSample, Sample, SloStatus } from './telemetry.js';

/**
 * Client to server on `/api/v1/stream`. The first message authenticates; `after` resumes the event log after an id
 * (absent: from now on). Samples are selected by key prefix.
 */
export const StreamClientMessage = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('authenticate'),
    token: z.string().max(400),
    after: StreamId.optional(),
  }),
  z.strictObject({ type: z.literal('subscribe'), samples: z.array(z.string().max(200)).max(500) }),
]);
export type StreamClientMessage = z.infer<typeof StreamClientMessage>;

/** The server sends `alive` when it has sent nothing else for this long; a client that hears nothing for longer has lost it. */
export const STREAM_ALIVE_MS = 1000;

/**
 * Server to client. Events are never dropped or duplicated; `reset` means that the log before `snapshot_at` was trimmed
 * and the client must read resources again. Samples contain only the newest value per key and are never queued.
 */
export const StreamServerMessage = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('ready'), at: z.string(), server_version: z.string() }),
  z.strictObject({ type: z.literal('event'), event: Event }),
  z.strictObject({ type: z.literal('reset'), snapshot_at: z.string() }),
  z.strictObject({
    type: z.literal('samples'),
    samples: z.array(Sample),
    links: z.array(LinkSample),
    slos: z.array(SloStatus),
    coalesced: z.int().min(0),
  }),
  z.strictObject({ type: z.literal('alive') }),
  z.strictObject({ type: z.literal('refused'), detail: z.string() }),
]);
export type StreamServerMessage = z.infer<typeof StreamServerMessage>;
