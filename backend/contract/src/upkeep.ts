import { z } from 'zod';
import { Id, Name, RateBps, TimestampMs } from './common.js';

const Hour = z.int().min(0).max(23);

/** What the loop `upkeep` may do by itself. */
export const UpkeepPolicyRequest = z.strictObject({
  enabled: z.boolean().default(true).describe('false: nothing is compared'),
  mode: z
    .enum(['never', 'ask', 'auto'])
    .default('ask')
    .describe('never: only drift is told; ask: a better placement is advised; auto: it is applied, too'),
  min_gain_percent: z
    .number()
    .min(1)
    .max(100)
    .default(10)
    .describe('of the traffic between servers, that a better placement saves at least'),
  min_gain_bps: RateBps.default(1_000_000).describe('bits per second between servers that it saves at least'),
  hold_s: z.number().min(0.1).max(86_400).default(300).describe('how long it must have been better without a break'),
  look_s: z.number().min(0.1).max(3600).default(30).describe('time between two looks at what is measured'),
  max_moved: z.int().min(1).max(256).default(8).describe('instances that one change moves, at most'),
  max_changes: z.int().min(1).max(60).default(2).describe('changes that the loop makes within an hour, at most'),
  quiet_hours: z
    .strictObject({ from: Hour, to: Hour })
    .nullable()
    .default(null)
    .describe('hours of the day (UTC) in which nothing is applied by itself, without the last; null: none'),
});
export type UpkeepPolicyRequest = z.infer<typeof UpkeepPolicyRequest>;
export const UpkeepPolicy = UpkeepPolicyRequest.extend({ revision: z.int().min(0) });
export type UpkeepPolicy = z.infer<typeof UpkeepPolicy>;

const Difference = z.number().nullable().describe('measured / planned - 1; null: they cannot be compared');

/** How an NF runs beside how it was planned. */
export const PlacementDrift = z.strictObject({
  chain_id: Id,
  node_id: Name,
  planned_bps: z.number().min(0),
  measured_bps: z.number().min(0).nullable().describe('mean over two looks, at most a minute; null: not measured'),
  rate_error: Difference,
  planned_cycles: z.number().min(0).nullable().describe('of a core, for each bit; null: no rate was planned'),
  measured_cycles: z.number().min(0).nullable(),
  cost_error: Difference,
});
export type PlacementDrift = z.infer<typeof PlacementDrift>;

/** What another placement brings for the loads that are measured; positive is better. */
export const PlacementGain = z.strictObject({
  cross_traffic_bps: z.number().describe('bits per second less between servers'),
  cross_traffic_percent: z.number().describe('of the traffic between servers now'),
  cores: z.number().describe('cores less in use'),
  overloaded_cores: z.int().describe('cores that no longer have more to do than plans hand out'),
  objectives: z.int().describe('objectives, and bounds of service requests, that are no longer predicted to be missed'),
});
export type PlacementGain = z.infer<typeof PlacementGain>;

/** What a change of places costs while it happens. */
export const PlacementDisruption = z.strictObject({
  moved: z.array(z.strictObject({ instance: Id, from: Name, to: Name })),
  flows: z.int().min(0).nullable().describe('in progress at these instances; null: nobody tracks them'),
  states_moved: z.int().min(0).describe('instances whose flow state goes with them'),
  states_lost: z.int().min(0).describe('NFs of which flow state is lost'),
  seconds: z
    .number()
    .min(0)
    .nullable()
    .describe('that the last changes took that moved instances, median; null: there were none'),
});
export type PlacementDisruption = z.infer<typeof PlacementDisruption>;

/** Whether what runs is placed well for what is measured. */
export const PlacementAdvice = z.strictObject({
  state: z
    .enum(['none', 'keep', 'advise', 'applying'])
    .describe('none: nothing was compared; keep: nothing better; advise: a better plan; applying: it is being applied'),
  why: z.string(),
  revision: z.int().min(0).describe('of the advice; the ETag'),
  compared_ms: TimestampMs.nullable().describe('when what runs was last compared; null: not since the server started'),
  drift: z.array(PlacementDrift).max(200).describe('NFs, those that differ most first'),
  drift_omitted: z.int().min(0).describe('NFs beyond those listed'),
  gain: PlacementGain.nullable(),
  disruption: PlacementDisruption.nullable(),
  plan_id: Id.nullable().describe('the better plan, to be shown; kept for a day'),
  operation_id: Id.nullable().describe('that applies it'),
  refusal: z.string().nullable().describe('why it was not applied the last time; null: it was not tried'),
  dismissed_until_ms: TimestampMs.nullable().describe('until when nothing is advised, by request'),
});
export type PlacementAdvice = z.infer<typeof PlacementAdvice>;

export const AdviceDismissal = z.strictObject({
  hours: z.number().min(0.01).max(168).default(24).describe('for which nothing is advised'),
});
export type AdviceDismissal = z.infer<typeof AdviceDismissal>;
