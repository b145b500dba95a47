import { z } from 'zod';
import { LoadKind, LoadPolicy, LoadResult, SlotRef } from './boards.js';
import { Id, Name, TimestampMs } from './common.js';
import { Constraint } from './plan-analysis.js';

/** An NF of a deployed chain. */
export const NfRef = z.strictObject({ chain_id: Id, node_id: Name });
export type NfRef = z.infer<typeof NfRef>;

/** Whether a slot could take an NF now, what it runs being displaced. */
export const SlotOffer = z.strictObject({
  nf: NfRef,
  ...SlotRef.shape,
  displaces: z.array(NfRef).describe('what runs there, and would move to software first'),
  verdict: z.enum(['possible', 'refused', 'unchecked']).describe('unchecked: there is no plan for it'),
  problem: z.string().nullable().describe('why it is refused or unchecked; null: by `conflict`, or neither'),
  conflict: Constraint.nullable(),
});
export type SlotOffer = z.infer<typeof SlotOffer>;

/** Load above which an NF moves to a board and below which it moves back; the gap between them is the hysteresis. */
export const LoadThreshold = z.strictObject({
  metric: z.enum(['bps', 'pps', 'cpu']),
  up: z.number().positive(),
  down: z.number().min(0),
  for_s: z.number().min(0.5).max(600).default(3).describe('how long the load must stay beyond the threshold'),
});
export type LoadThreshold = z.infer<typeof LoadThreshold>;

const policyFields = {
  title: z.string().min(1).max(80).regex(/\S/, 'must not be blank'),
  enabled: z.boolean().default(true),
  nf: NfRef.describe('the NF that moves to a board under high load'),
  threshold: LoadThreshold,
  displaces: z.array(NfRef).max(16).default([]).describe('NFs that may be moved to software to make room'),
  slot: SlotRef.nullable().default(null).describe('null: any slot that fits'),
  load: LoadKind.default('partial'),
  policy: LoadPolicy.default('hold'),
  priority: z.int().min(0).max(100).default(50).describe('chains of higher priority must keep their SLOs'),
  cooldown_s: z
    .number()
    .min(0)
    .max(3600)
    .default(10)
    .describe('minimum time between two reconfigurations by this policy'),
};

const DISPLACES_ITSELF = { path: ['displaces'], message: 'must not contain the NF itself' };

function displacesOthers({ nf, displaces }: { nf: NfRef; displaces: readonly NfRef[] }): boolean {
  return !displaces.some((it) => it.chain_id === nf.chain_id && it.node_id === nf.node_id);
}

export const ReconfigurationPolicyRequest = z
  .strictObject(policyFields)
  .refine(({ threshold: { up, down } }) => down < up, {
    path: ['threshold', 'down'],
    message: 'must be below the upper threshold',
  })
  .refine(displacesOthers, DISPLACES_ITSELF);
export type ReconfigurationPolicyRequest = z.infer<typeof ReconfigurationPolicyRequest>;

/** When an NF is moved between software and board automatically (CoNFV IV-D). */
export const ReconfigurationPolicy = z.strictObject({
  id: Id,
  ...policyFields,
  revision: z.int().min(1).describe('the ETag'),
  load_now: z.number().nullable().describe('current load of the NF, in the unit of the metric; null: not measured'),
  state: z.enum(['watching', 'above', 'below', 'cooling', 'disabled', 'not-deployed']),
});
export type ReconfigurationPolicy = z.infer<typeof ReconfigurationPolicy>;

/** The four stages of CoNFV IV-D. */
export const ReconfigurationStage = z.enum(['detection', 'update', 'configuration', 'response']);
export type ReconfigurationStage = z.infer<typeof ReconfigurationStage>;

export const StageRecord = z.strictObject({
  stage: ReconfigurationStage,
  state: z.enum(['pending', 'running', 'done', 'failed', 'skipped']),
  started_ms: TimestampMs.nullable(),
  ended_ms: TimestampMs.nullable(),
  detail: z.string(),
  operation_id: Id.nullable(),
});
export type StageRecord = z.infer<typeof StageRecord>;

/** What an NF runs on. */
export const NfPlace = z.discriminatedUnion('on', [
  z.strictObject({ on: z.literal('software') }),
  z.strictObject({ on: z.literal('container') }),
  z.strictObject({ on: z.literal('board'), slot: SlotRef.nullable().describe('null: not selected yet') }),
]);
export type NfPlace = z.infer<typeof NfPlace>;

/** One NF that moves between software and board. */
export const NfMove = z.strictObject({ ...NfRef.shape, nf: Name, from: NfPlace, to: NfPlace });
export type NfMove = z.infer<typeof NfMove>;

export const Reconfiguration = z.strictObject({
  id: Id,
  policy_id: Id.nullable().describe('null: requested manually, by a lending group, or a fallback'),
  cause: z.enum(['load-high', 'load-low', 'manual', 'fallback', 'lending']),
  trigger: z.string().describe('the measurement or request that started it'),
  state: z.enum(['running', 'completed', 'refused', 'rolled-back', 'failed']),
  slot: SlotRef.nullable(),
  load: LoadKind,
  policy: LoadPolicy,
  moves: z.array(NfMove),
  stages: z.array(StageRecord).describe('always all four, in order'),
  loads: z.array(LoadResult).describe('in order; one that was cut off has an error'),
  packets_lost: z.int().min(0).nullable().describe('frames lost during loads; null: nothing was loaded'),
  detail: z
    .string()
    .nullable()
    .describe('why it was refused or rolled back, or failed; if it completed, what went wrong on the way'),
  started_ms: TimestampMs,
  ended_ms: TimestampMs.nullable(),
});
export type Reconfiguration = z.infer<typeof Reconfiguration>;

/** A manual move to a board or back to software. */
export const ReconfigurationRequest = z
  .strictObject({
    nf: NfRef,
    to: z.enum(['software', 'board'], {
      error: ({ input }) =>
        input === 'container' ? 'a container needs no reconfiguration: deploy a plan' : 'must be software or board',
    }),
    slot: SlotRef.nullable().default(null),
    load: LoadKind.default('partial'),
    policy: LoadPolicy.default('hold'),
    displaces: z.array(NfRef).max(16).default([]),
  })
  .refine(displacesOthers, DISPLACES_ITSELF);
export type ReconfigurationRequest = z.infer<typeof ReconfigurationRequest>;
