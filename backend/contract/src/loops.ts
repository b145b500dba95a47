import { z } from 'zod';
import { Name, TimestampMs } from './common.js';

/** A figure or state that a decision was based on. */
export const LoopInput = z.union([z.string(), z.number(), z.boolean(), z.null()]);
export type LoopInput = z.infer<typeof LoopInput>;

/** What a control loop decided, its subject, and the reason. */
export const LoopDecision = z.strictObject({
  subject: z.string().describe('subject of the decision: a policy, a reconfiguration, an operation'),
  what: z.string(),
  why: z.string(),
  inputs: z.record(z.string(), LoopInput).describe('figures and states that it is based on'),
  at_ms: TimestampMs,
});
export type LoopDecision = z.infer<typeof LoopDecision>;

/** A control loop of the server. */
export const Loop = z.strictObject({
  id: Name,
  title: z.string(),
  purpose: z.string().describe('what it does, in a sentence'),
  state: z.enum(['running', 'backing-off', 'paused']).describe('`backing-off`: its last run failed'),
  paused: z.strictObject({ by: z.string(), since_ms: TimestampMs }).nullable(),
  at_work: z.array(z.string()).describe('subjects with a run in progress'),
  runs: z.int().min(0).describe('since the server started'),
  last_run_ms: TimestampMs.nullable(),
  next_run_ms: TimestampMs.nullable().describe('null: when something changes'),
  last_decision: LoopDecision.nullable(),
  failures: z.int().min(0).describe('consecutive failed runs'),
  last_error: z.string().nullable(),
});
export type Loop = z.infer<typeof Loop>;
