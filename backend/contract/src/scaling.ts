import { z } from 'zod';
import { DelayUs, Id, Name, TimestampMs } from './common.js';
import { FlowRange } from './filter.js';
import { KeepFlows, MOST_RANGES, NfSplit } from './flow-steering.js';
import { NfRef } from './reconfiguration.js';

const Instances = z.int().min(1).max(MOST_RANGES);

/** What becomes of flows in progress whose range goes to another instance. */
export const ScaledFlows = z.enum(['keep', 'migrate']);
export type ScaledFlows = z.infer<typeof ScaledFlows>;

const drain_s = z
  .int()
  .min(1)
  .max(86_400)
  .default(300)
  .describe(
    'how long an instance that is to go waits for its flows to end; those that are left then are lost and counted',
  );

/** Another number of instances of an NF that runs (E2 3.4.3). */
export const ScaleRequest = z.strictObject({
  node_id: Name,
  instances: Instances,
  flows: ScaledFlows.default('keep').describe(
    'keep: flows in progress stay at their instances until they end. migrate: they move, with their state, to the instance of their range',
  ),
  drain_s,
});
export type ScaleRequest = z.infer<typeof ScaleRequest>;

/**
 * `track`: engines, or switches that keep flows, begin to track the flows of the NF. `stage`: engines in front of the instances of a first
 * NF do, while the switches go on as before. `settle`: all flows in progress become known.
 * `drain`: instances that are to go get no new flows. `move`: flows move to the instances of their ranges. `empty`: what is to go
 * waits for its flows to end. `resize`: the number of instances changes. `restore`: ranges go back to what they were before.
 */
export const ScalingStep = z.enum(['track', 'stage', 'settle', 'drain', 'move', 'empty', 'resize', 'restore']);
export type ScalingStep = z.infer<typeof ScalingStep>;

/** A change of the number of an NF's instances, from the request to its end. */
export const Scaling = z.strictObject({
  id: Id,
  nf: NfRef,
  from: Instances,
  to: Instances,
  flows: ScaledFlows,
  drain_s,
  policy_id: Id.nullable().describe('null: by hand'),
  cause: z.string().max(500),
  by: z.string(),
  cancelled_by: z.string().nullable().default(null).describe('who stopped it while it waited; null: nobody did'),
  base_operation: Id.nullable()
    .default(null)
    .describe(
      'the operation that made what it changes: the last one of its own, or the one before it. Where somebody else deploys the chain anew meanwhile, it fails. Null: it is not known, as it began earlier',
    ),
  before: z.array(FlowRange).max(MOST_RANGES).describe('ranges before, by ordinal; empty: there was one instance'),
  after: z.array(FlowRange).max(MOST_RANGES).describe('ranges at the end, by ordinal; empty: there is one instance'),
  state: z.enum(['running', 'completed', 'failed', 'cancelled']),
  steps: z.array(ScalingStep).min(1).max(8).describe('all that it takes, in order'),
  step: z.int().min(0).max(8).describe('index of the one under way; behind the last: it is over'),
  step_ms: TimestampMs.describe('when that began'),
  left_flows: z
    .int()
    .min(0)
    .nullable()
    .describe(
      'flows in progress at the instances that went, when they went: they are lost. null: none went, or it is not known',
    ),
  error: z.string().nullable(),
  started_ms: TimestampMs,
  ended_ms: TimestampMs.nullable(),
});
export type Scaling = z.infer<typeof Scaling>;

/** What a change of the number of an NF's instances would do. */
export const ScalingPreview = z.strictObject({
  from: Instances,
  to: Instances,
  steps: Scaling.shape.steps,
  splits: z
    .array(NfSplit)
    .min(1)
    .max(2)
    .describe(
      'what `track` or `stage`, and then `resize`, ask of its split: each is planned on top of the one before. Exceptions that are told until then are added',
    ),
  idle_timeout_s: KeepFlows.shape.idle_timeout_s.unwrap().describe('how long `settle` takes'),
  feasible: z.boolean().describe('false: no plan has room for the first step, for which the change would be refused'),
});
export type ScalingPreview = z.infer<typeof ScalingPreview>;

/** Limits of one direction. A delay of null: delay does not count. */
export const ScalingLimits = z.strictObject({
  utilization: z.number().min(0).max(1).describe('of the core on which an instance runs'),
  queue: z.int().min(0).max(1_048_576).describe('packets that wait in front of an instance'),
  delay_us: DelayUs.min(0.001)
    .nullable()
    .default(null)
    .describe('99th percentile in an instance; null: does not count'),
  for_s: z.number().min(0.5).max(3600).describe('how long without a break'),
});
export type ScalingLimits = z.infer<typeof ScalingLimits>;

/** How flows in progress are treated: E2's migration avoidance, and the two strawmen that it is compared with (E2 3.6.2). */
export const ScalingStrategy = z.enum(['avoid', 'migrate', 'never']);
export type ScalingStrategy = z.infer<typeof ScalingStrategy>;

const policyFields = {
  nf: NfRef,
  enabled: z.boolean().default(true),
  out: ScalingLimits.default({ utilization: 0.8, queue: 256, delay_us: null, for_s: 3 }).describe(
    'an instance beyond one of them is overloaded',
  ),
  in: ScalingLimits.default({ utilization: 0.3, queue: 32, delay_us: null, for_s: 30 }).describe(
    'an NF is idle while each of its instances is below all of them; a queue of exactly its limit counts as below',
  ),
  min_instances: Instances.default(1),
  max_instances: Instances.default(4),
  cooldown_s: z.number().min(1).max(3600).default(30).describe('least time between two changes'),
  strategy: ScalingStrategy.default('avoid').describe(
    'avoid: engines keep flows in progress at their instances (migration avoidance). migrate: flows move with their state. never: switches keep flows by an entry each',
  ),
};

export const ScalingPolicyRequest = z.strictObject(policyFields).check(({ value, issues }) => {
  const refuse = (path: PropertyKey[], message: string) =>
    issues.push({ code: 'custom', input: undefined, path, message });
  if (value.in.utilization >= value.out.utilization) refuse(['in', 'utilization'], 'must be below that of out');
  if (value.in.queue > value.out.queue) refuse(['in', 'queue'], 'must not be above that of out');
  if (value.in.delay_us !== null && value.out.delay_us !== null && value.in.delay_us >= value.out.delay_us)
    refuse(['in', 'delay_us'], 'must be below that of out');
  if (value.max_instances < value.min_instances) refuse(['max_instances'], 'must not be below min_instances');
});
export type ScalingPolicyRequest = z.infer<typeof ScalingPolicyRequest>;

/** When the number of an NF's instances follows its load (E2 3.4.3). */
export const ScalingPolicy = z.strictObject({
  id: Id,
  ...policyFields,
  revision: z.int().min(1).describe('the ETag'),
  state: z.enum(['watching', 'overloaded', 'idle', 'cooling', 'scaling', 'disabled', 'not-deployed', 'not-judged']),
  unjudged: z
    .string()
    .nullable()
    .describe('why the load says nothing, such as an agent that is away; null: it does, or is not looked at'),
  refusal: z
    .string()
    .nullable()
    .describe('why the last change that was due could not be made; null: none was refused since'),
});
export type ScalingPolicy = z.infer<typeof ScalingPolicy>;
