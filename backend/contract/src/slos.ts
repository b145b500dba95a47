import { z } from 'zod';
import { Id, Name, StreamId, TimestampMs } from './common.js';
import { Severity } from './events/declare.js';

const seconds = z.number().min(0);

/** For how long an objective may be missed, and for how long it was (Google SRE workbook, chapter 2). */
export const SloBudget = z.strictObject({
  goal: z.number().describe('share of the judged time in which the objective is to be met'),
  period_s: z.int().min(1),
  since_ms: TimestampMs.describe('seconds are counted from then on: since the objective runs, or runs with its target'),
  good_s: seconds.describe('over the period, in which the objective was met'),
  bad_s: seconds.describe('in which it was missed'),
  unknown_s: seconds.describe('in which nobody knows, or nothing was offered: neither good nor bad'),
  compliance: z
    .number()
    .min(0)
    .max(1)
    .nullable()
    .describe('share of the judged seconds that were good; null: none was'),
  left_s: z.number().describe('bad seconds that the period still allows; negative: it had more'),
  left_share: z.number().describe('the same, as a share of what the period allows'),
  burn: z
    .array(z.strictObject({ window_s: z.int().min(1), rate: z.number().min(0).nullable() }))
    .describe(
      'over the last seconds: bad share over the share that may be bad; at 1 the budget lasts just as long as its period. Null: nothing was judged',
    ),
});
export type SloBudget = z.infer<typeof SloBudget>;

/** Fires when the budget burns faster than `burn` over both windows. */
export const AlertRule = z.strictObject({
  long_s: z.int().min(1),
  short_s: z.int().min(1),
  burn: z.number().positive(),
  severity: Severity,
});
export type AlertRule = z.infer<typeof AlertRule>;

/** A change that may have begun a violation, or was made about it. */
export const SloCause = z.strictObject({
  kind: z
    .enum(['operation', 'reconfiguration', 'scaling', 'fault', 'failure', 'overload'])
    .describe('`failure`: of a node, link, switch, board or NF; `overload`: a queue is full'),
  what: z.string().max(400).describe('one sentence'),
  id: z.string().max(120).describe('of the operation, reconfiguration, scaling or fault, of what failed, or of the NF'),
  event_id: StreamId.nullable().describe('null: no event tells of it'),
  at_ms: TimestampMs,
});
export type SloCause = z.infer<typeof SloCause>;

/** Where in a chain latency or loss grew most. */
export const SloPlace = z.strictObject({
  nf: Name.nullable().describe('null: between NFs'),
  what: z.string().max(400).describe('one sentence'),
});
export type SloPlace = z.infer<typeof SloPlace>;

export const MOST_REACTIONS = 8;

export const SloAlert = z.strictObject({
  id: Id,
  chain_id: Id,
  slo_id: Name,
  rule: AlertRule,
  state: z.enum(['open', 'resolved']),
  since_ms: TimestampMs.optional().describe('of the budget that it is about: of one that began anew it is over'),
  began_ms: TimestampMs.describe(
    'when the violation began: to a second, or to ten where the server was started anew since',
  ),
  fired_ms: TimestampMs,
  resolved_ms: TimestampMs.nullable(),
  resolution: z
    .enum(['calm', 'changed', 'removed', 'undeployed'])
    .nullable()
    .describe(
      'why it ended: the budget burns no more, the objective was changed, is watched by other rules or was removed, or its chain was undeployed',
    ),
  burn_long: z.number().min(0).describe('when it fired'),
  burn_short: z.number().min(0).describe('when it fired'),
  left_share: z.number().describe('of the budget, when it fired'),
  cause: SloCause.nullable().describe('the most plausible one from before it was seen; null: none was found'),
  reactions: z
    .array(SloCause)
    .max(MOST_REACTIONS)
    .default([])
    .describe('changes of the chain since it was seen, until the alert is over; the first ones'),
  place: SloPlace.nullable().describe('null: unknown'),
  acknowledged: z.strictObject({ by: z.string(), at_ms: TimestampMs, note: z.string().max(400) }).nullable(),
});
export type SloAlert = z.infer<typeof SloAlert>;

export const AcknowledgeRequest = z.strictObject({ note: z.string().max(400).default('') });

/** Seconds of an objective in steps of equal length, oldest first. */
export const SloHistory = z.strictObject({
  chain_id: Id,
  slo_id: Name,
  goal: z.number(),
  period_s: z.int().min(1),
  since_ms: TimestampMs,
  step_s: z.int().min(1),
  to_ms: TimestampMs.describe('by the clock of the server: the last step may not be over'),
  points: z.array(
    z.strictObject({
      t_ms: TimestampMs.describe('when the step begins'),
      good_s: seconds,
      bad_s: seconds,
      unknown_s: seconds,
      mean: z.number().nullable().describe('of what was measured, in the unit of the objective'),
      worst: z.number().nullable(),
      burn: z.number().min(0).nullable(),
      left_share: z.number().describe('of the budget, at the end of the step, as far as the kept period tells'),
    }),
  ),
});
export type SloHistory = z.infer<typeof SloHistory>;
