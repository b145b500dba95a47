import { z } from 'zod';
import { Id, Name } from './common.js';
import { FLOW_SPACE, FlowKey, FlowRange } from './filter.js';

/** Flows in progress that a split tracks, so that they stay at their instances when its ranges change (E2 3.4.4). */
export const KeepFlows = z.strictObject({
  capacity: z.int().min(1).max(1_048_576).default(65_536).describe('flows; those beyond it follow the ranges'),
  idle_timeout_s: z.int().min(1).max(86_400).default(60).describe('a flow without a packet for so long has ended'),
});
export type KeepFlows = z.infer<typeof KeepFlows>;

/** Most instances over which flows are split by ranges. */
export const MOST_RANGES = 256;

/** One range for each instance, by ordinal. */
export const InstanceRanges = z
  .array(FlowRange)
  .min(2)
  .max(MOST_RANGES)
  .check(({ value, issues }) => {
    const flaw = flawOfRanges(value);
    if (flaw) issues.push({ code: 'custom', input: value, path: [flaw.index], message: flaw.detail });
  })
  .describe(`one for each instance, by ordinal; they partition [0, ${FLOW_SPACE})`);

/** Where ranges do not partition the flow space, and why; null: they do. */
export function flawOfRanges(ranges: readonly FlowRange[]): { index: number; detail: string } | null {
  const ordered = ranges.map((range, index) => ({ ...range, index })).sort((a, b) => a.lo - b.lo || a.hi - b.hi);
  let next = 0;
  for (const { lo, hi, index } of ordered) {
    if (lo >= hi) return { index, detail: `is empty: [${lo}, ${hi})` };
    if (lo < next) return { index, detail: `overlaps another range below ${next}` };
    if (lo > next) return { index, detail: `leaves [${next}, ${lo}) to no instance` };
    next = hi;
  }
  const last = ordered.at(-1);
  return last && next < FLOW_SPACE
    ? { index: last.index, detail: `leaves [${next}, ${FLOW_SPACE}) to no instance` }
    : null;
}

/** The fields of a flow that the key of its split has. Switches split IPv4 flows only. */
export const SplitFlow = z.strictObject({
  'ip.src': z.ipv4().optional(),
  'ip.dst': z.ipv4().optional(),
  'ip.proto': z.int().min(0).max(255).optional(),
  'port.src': z.int().min(0).max(65_535).optional(),
  'port.dst': z.int().min(0).max(65_535).optional(),
});
export type SplitFlow = z.infer<typeof SplitFlow>;

/** Most exceptions that a split hands over to a switch. */
export const MOST_EXCEPTIONS = 2048;

/**
 * A split of a chain's first NF in steps (E2 3.4.4, Figure 3.5). With `held`, the entries of the switches stay as they are: engines
 * split behind them, on the servers of the instances that had these ranges, and keep flows in progress where they are. Without, the
 * switches have taken over the ranges, and the exceptions that were left.
 */
export const StagedSplit = z.strictObject({
  held: z
    .array(FlowRange)
    .min(1)
    .max(MOST_RANGES)
    .check(({ value, issues }) => {
      const flaw = flawOfRanges(value);
      if (flaw) issues.push({ code: 'custom', input: value, path: [flaw.index], message: flaw.detail });
    })
    .optional()
    .describe('ranges that the switches have, one for each instance before the split, by ordinal'),
  exceptions: z
    .array(
      z.strictObject({
        flow: SplitFlow,
        ordinal: z
          .int()
          .min(0)
          .max(MOST_RANGES - 1),
      }),
    )
    .max(MOST_EXCEPTIONS)
    .default([])
    .describe('flows that the switches send to an instance although its range does not hold them'),
  idle_timeout_s: KeepFlows.shape.idle_timeout_s.describe('an exception without a packet for so long has ended'),
});
export type StagedSplit = z.infer<typeof StagedSplit>;

/** How the flows of an NF are split over its instances. */
export const NfSplit = z.strictObject({
  node_id: Name,
  ranges: InstanceRanges.optional().describe(
    'absent: equal ranges, also once the NF of a running chain gets another number of instances',
  ),
  instances: z
    .int()
    .min(1)
    .max(MOST_RANGES)
    .nullable()
    .optional()
    .describe(
      'how many, whatever the estimated load needs, also in later plans; without `ranges`, those of now are halved, or go to their neighbours. null: as the load needs. Absent: as it is now',
    ),
  keep_flows: KeepFlows.nullable()
    .optional()
    .describe(
      'null: flows in progress follow the ranges. Absent: engines keep the flows of an NF with affinity, switches none',
    ),
  staged: StagedSplit.optional().describe(
    'of an NF that all flows enter by one edge from the ingress: its split changes in steps. Absent: at once',
  ),
});
export type NfSplit = z.infer<typeof NfSplit>;

/** A split of a plan: the flows of one NF over its instances. */
export const PlannedSplit = z.strictObject({
  chain_id: Id,
  node_id: Name,
  at: z
    .enum(['switch', 'engine'])
    .describe(
      'who splits: the switches that steer the class into the chain, or the engines that run what is before it',
    ),
  key: FlowKey.describe('fields that are hashed'),
  targets: z.array(z.strictObject({ instance_id: Id, server: Name, range: FlowRange })).min(2),
  keep_flows: KeepFlows.nullable(),
});
export type PlannedSplit = z.infer<typeof PlannedSplit>;

/** Ranges and kept flows of one NF's split, as they are to be. Absent fields: the default. */
export const SplitRequest = NfSplit.omit({ node_id: true, instances: true }).extend({
  plan_id: Id.optional().describe(
    'a plan of exactly this change, which is deployed as it is; absent: it is planned now',
  ),
});
export type SplitRequest = z.infer<typeof SplitRequest>;

/** How far the split of a first NF is on its way from the engines to the switches. */
export const HandoverProgress = z.strictObject({
  looks: z.int().min(0).describe('at the engines, one a second, since it began or was tried again'),
  why: z.string().nullable().describe('why it waits, or was given up; null: nothing is in its way yet'),
  given_up: z.boolean().describe('the split stays at the engines until the hand-over is tried again'),
});
export type HandoverProgress = z.infer<typeof HandoverProgress>;

const Measured = z.number().min(0).nullable();

/** A split that runs, with what is measured; null: there is no recent measurement. */
export const Split = PlannedSplit.extend({
  staged: StagedSplit.optional().describe('it changes in steps, or the switches have taken it over. Absent: neither'),
  handover: HandoverProgress.optional().describe('absent: none is due'),
  targets: z.array(
    z.strictObject({
      ...PlannedSplit.shape.targets.element.shape,
      share: z
        .number()
        .min(0)
        .max(1)
        .describe('of the hash range: how many flows and packets that is depends on the traffic'),
      pps: Measured.describe('packets that the split sends there'),
      live_share: z.number().min(0).max(1).nullable().describe('of the packets of the split; null also: no packets'),
      flows: Measured.describe('tracked, in progress'),
      exceptions: Measured.describe('of these, kept there although the ranges send them elsewhere'),
    }),
  ),
  untracked_pps: Measured.describe(
    'packets of flows that the table has no room for: they follow the ranges. Of a switch those that it tells',
  ),
  displaced_per_s: Measured.describe(
    'flows that could not stay: their instance is gone, or the table became smaller; null also: switches do not count them',
  ),
});
export type Split = z.infer<typeof Split>;
