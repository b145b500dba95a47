import { NfDescriptor, TimestampMs } from '@orrery/contract';
import { z } from 'zod';

/** A legacy NF that a user described, as stored in Redis. */
export const StoredDescriptor = z.strictObject({
  descriptor: NfDescriptor,
  by: z.string(),
  updated_ms: TimestampMs,
});
export type StoredDescriptor = z.infer<typeof StoredDescriptor>;
