import { ApplicationDefinition, Generation, TimestampMs } from '@orrery/contract';
import { z } from 'zod';

/** An application as stored in Redis. `run` identifies the run; a change or a manual restart increments it. */
export const StoredApplication = z.strictObject({
  definition: ApplicationDefinition,
  run: Generation,
  created_ms: TimestampMs,
  updated_ms: TimestampMs,
});
export type StoredApplication = z.infer<typeof StoredApplication>;
