import { z } from 'zod';
import { SlotRef } from './boards.js';
import { Id, Name, Origin, TimestampMs } from './common.js';
import { NotKept } from './plan.js';
import { DeploymentOptions } from './plan-options.js';

/** What the loop `healing` may do by itself. */
export const HealingPolicyRequest = z.strictObject({
  enabled: z.boolean().default(true),
  grace_s: z.number().min(0.1).max(3600).default(10).describe('a server that is away for longer is lost'),
  stable_s: z
    .number()
    .min(0.1)
    .max(3600)
    .default(20)
    .describe(
      'a part that was lost must be well for so long before it is used again; doubles each time it is lost again',
    ),
  return: z
    .enum(['never', 'ask', 'auto', 'by-origin'])
    .default('by-origin')
    .describe('whether what left a part goes back to it; `by-origin`: auto for parts of the twin, ask for real ones'),
  max_changes: z
    .int()
    .min(1)
    .max(100)
    .default(6)
    .describe(
      'changes of the loop within 10 minutes after which nothing returns or is deployed again; what is lost is healed all the same',
    ),
});
export type HealingPolicyRequest = z.infer<typeof HealingPolicyRequest>;
export const HealingPolicy = HealingPolicyRequest.extend({ revision: z.int().min(0) });
export type HealingPolicy = z.infer<typeof HealingPolicy>;

/** An instance that has left a part, and where it was there. */
export const LeftInstance = z.strictObject({
  chain_id: Id,
  node_id: Name,
  instance: Id.describe('the first of the instances that followed each other there'),
  slot: SlotRef.nullable(),
});
export type LeftInstance = z.infer<typeof LeftInstance>;

/** Instances that a part gets back, as many as one plan moves. */
export const MOST_LEFT = 256;

/** A server or board that plans do not use, or that is back and not yet what it was. */
export const OutOfService = z.strictObject({
  id: Name,
  kind: z.enum(['server', 'board']),
  origin: Origin,
  maintenance: z
    .strictObject({
      reason: z.string(),
      by: z.string(),
      since_ms: TimestampMs,
      force: z.boolean().default(false).describe('chains are taken down for it, if need be'),
    })
    .nullable()
    .describe('null: not in maintenance'),
  lost: z
    .strictObject({ why: z.string(), since_ms: TimestampMs })
    .nullable()
    .describe('null: it is not lost; with `maintenance` null too, it is back and what left it may return'),
  operation_id: Id.nullable().describe('the latest change of what runs because of it; null: none was needed'),
  left: z.array(LeftInstance).max(MOST_LEFT).describe('what may return, each once; of more, the latest ones'),
  return_refused: z
    .string()
    .nullable()
    .default(null)
    .describe('why what left it could not go back when it was last tried; null: not tried, or accepted'),
});
export type OutOfService = z.infer<typeof OutOfService>;

/** As it is listed. */
export const ListedPart = OutOfService.extend({
  in_use: z
    .boolean()
    .describe(
      'what is to run has NFs, mirrors, merges, splits or queues there, or in slots of boards that the server drives',
    ),
});
export type ListedPart = z.infer<typeof ListedPart>;

export const MaintenanceRequest = z.strictObject({
  reason: z.string().trim().min(1).max(200),
  force: z.boolean().default(false).describe('also where chains have to be taken down for it'),
  dry_run: z.boolean().default(false).describe('tells what would happen, and changes nothing'),
});
export type MaintenanceRequest = z.infer<typeof MaintenanceRequest>;

export const MaintenanceEnd = z.strictObject({
  return: z
    .boolean()
    .default(false)
    .describe('what left the part goes back to it; the part stays listed, with `return_refused`, where that cannot be'),
});
export type MaintenanceEnd = z.infer<typeof MaintenanceEnd>;

/** What a change of the service of a part does, or would do. */
export const MaintenanceChange = z.strictObject({
  part: OutOfService.nullable().describe('null: it is in service'),
  operation_id: Id.nullable().describe('null: nothing moves, a dry run, or a return that was refused'),
  plan_id: Id.nullable().describe('of a dry run: the plan of what would happen; null: nothing would, or no dry run'),
  moves: z.array(z.strictObject({ instance: Id, from: Name, to: Name })),
  chains: z.array(Id).describe('of a drain: the chains that use the part, also by mirrors, merges, splits and queues'),
  not_kept: z.array(NotKept),
  warnings: z.array(z.string()).describe('flow state that is lost'),
});
export type MaintenanceChange = z.infer<typeof MaintenanceChange>;

/** A chain that was taken down because it had no place, until it is deployed again, given up or deleted. */
export const ChainNotKept = NotKept.omit({ slo_id: true }).extend({
  version: z.int().min(1),
  since_ms: TimestampMs,
  operation_id: Id.nullable()
    .default(null)
    .describe(
      'the operation that deploys it again, or that ends the dropping of its packets; null: none was asked for',
    ),
  given_up_by: z
    .string()
    .nullable()
    .default(null)
    .describe('who gave it up: it is listed until its packets are no longer dropped; null: nobody'),
  ...DeploymentOptions.shape,
});
export type ChainNotKept = z.infer<typeof ChainNotKept>;
