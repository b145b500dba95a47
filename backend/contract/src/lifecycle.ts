import { z } from 'zod';
import { SlotRef } from './boards.js';
import { FieldError, Generation, Id, Name, Origin, TimestampMs } from './common.js';
import { FlowMigration } from './flow-selector.js';
import { Implementation } from './nf-descriptor.js';
import { RequestedChange } from './plan.js';
import { DeploymentOptions } from './plan-options.js';
import { DriverChange } from './switch-driver.js';

/** States of an LCM operation occurrence (ETSI SOL005). */
export const OperationState = z.enum([
  'PROCESSING',
  'COMPLETED',
  'PARTIALLY_COMPLETED',
  'FAILED_TEMP',
  'FAILED',
  'ROLLING_BACK',
  'ROLLED_BACK',
]);
export type OperationState = z.infer<typeof OperationState>;

export const OperationStep = z.strictObject({
  ordinal: z.int().min(0),
  kind: z.string(),
  subject: z.string(),
  summary: z.string(),
  state: z.enum(['pending', 'running', 'done', 'failed', 'skipped', 'undone']),
  started_ms: TimestampMs.nullable(),
  ended_ms: TimestampMs.nullable(),
  detail: z.string().nullable(),
});
export type OperationStep = z.infer<typeof OperationStep>;

/** What an operation changes for one chain; null: the chain does not run. */
export const VersionChange = z.strictObject({
  chain_id: Id,
  from_version: z.int().min(1).nullable(),
  to_version: z.int().min(1).nullable(),
});
export type VersionChange = z.infer<typeof VersionChange>;

/** Work that outlives its request, which returns `202` with its `Location`. */
export const Operation = z.strictObject({
  id: Id,
  project: Name,
  kind: z.enum(['deploy', 'undeploy', 'infrastructure', 'reconfigure', 'migrate']),
  state: OperationState,
  subject: Id.describe('the chain or switch being changed'),
  plan_id: Id.nullable(),
  request: RequestedChange.describe(
    'what was asked for, with the versions that were chosen; planned again where something else runs when its turn comes',
  ),
  as_planned: z
    .literal(true)
    .optional()
    .describe(
      'it is not planned again but FAILED where something else runs when its turn comes: another plan might move instances, or lose state of flows, that this one leaves alone. Absent: it is planned again',
    ),
  chains: z
    .array(VersionChange)
    .describe('the versions that it changes; a chain that keeps its version is planned anew'),
  drivers: z.array(DriverChange).default([]).describe('the drivers of switches that it changes'),
  set_aside: z
    .strictObject({ waiting_for: z.array(Name), since_ms: TimestampMs })
    .nullable()
    .describe(
      'in FAILED_TEMP: its change is out of the desired state, so that others go on, until these nodes are back',
    ),
  by: z.string(),
  cancelled_by: z
    .string()
    .nullable()
    .default(null)
    .describe('who cancelled it; it is ROLLING_BACK or ROLLED_BACK because of that. Null: nobody did'),
  rolled_back_by: z.string().optional().describe('who rolled it back by hand; absent: nobody did'),
  migration: FlowMigration.optional().describe('of kind `migrate`'),
  steps: z.array(OperationStep),
  error: z.strictObject({ detail: z.string(), errors: z.array(FieldError).default([]) }).nullable(),
  started_ms: TimestampMs,
  updated_ms: TimestampMs,
  first_packet_ms: TimestampMs.nullable().describe('when the first packet crossed the deployed chain'),
});
export type Operation = z.infer<typeof Operation>;

export const DeployRequest = z.union([
  z.strictObject({ plan_id: Id.describe('a feasible plan based on the current deployment') }),
  z.strictObject({
    chain_id: Id,
    version: z.int().min(1).optional().describe('absent: the draft is published and deployed'),
    ...DeploymentOptions.shape,
  }),
]);
export type DeployRequest = z.infer<typeof DeployRequest>;

export const Deployment = z.strictObject({
  chain_id: Id,
  version: z.int().min(1),
  plan_id: Id,
  operation_id: Id,
  state: z.enum(['deploying', 'running', 'degraded', 'undeploying', 'failed']),
  since_ms: TimestampMs,
  reason: z.string().max(2000).optional().describe('why it is degraded; absent in every other state'),
});
export type Deployment = z.infer<typeof Deployment>;

export const InstanceState = z.enum(['pending', 'starting', 'running', 'failed', 'stopping', 'unknown']);
export type InstanceState = z.infer<typeof InstanceState>;

export const NfInstance = z.strictObject({
  id: Id,
  chain_id: Id,
  node_id: Name,
  nf: Name,
  driver: z.enum([...Implementation.shape.driver.options, 'switch']),
  slot: SlotRef.nullable().describe('with the driver `board`: the slot that runs it'),
  server: Name.describe('with the driver `switch`: the switch that runs it'),
  core: z.int().min(0).describe('0 on a switch'),
  state: InstanceState,
  detail: z.string().nullable(),
  origin: Origin,
});
export type NfInstance = z.infer<typeof NfInstance>;

/** The agent of a server or a switch as the console sees it. */
export const NodeStatus = z.strictObject({
  id: Name,
  kind: z.enum(['server', 'switch']),
  origin: Origin,
  state: z.enum(['connected', 'disconnected', 'never-seen']),
  engine: z
    .enum(['running', 'starting', 'unresponsive', 'failed', 'stopped', 'unknown'])
    .describe('`unknown` at a switch'),
  generation: z.strictObject({ desired: Generation, observed: Generation }),
  version: z.string().nullable(),
  capabilities: z.record(z.string(), z.unknown()),
  last_seen_ms: TimestampMs.nullable(),
  detail: z.string().nullable(),
});
export type NodeStatus = z.infer<typeof NodeStatus>;

/** A capability of the machine, probed at start, and the fallback if it is missing. */
export const Capability = z.strictObject({
  id: Name,
  title: z.string(),
  where: z.string().describe('server, twin or a node'),
  available: z.boolean(),
  detail: z.string(),
  fallback: z.string().nullable().describe('what replaces it; null if it is available or has no replacement'),
});
export type Capability = z.infer<typeof Capability>;

export const Health = z.strictObject({
  status: z.enum(['ok', 'degraded', 'failed']),
  version: z.string(),
  started_ms: TimestampMs,
  parts: z.array(
    z.strictObject({ name: z.string(), status: z.enum(['ok', 'degraded', 'failed', 'absent']), detail: z.string() }),
  ),
});
export type Health = z.infer<typeof Health>;

export const Role = z.enum(['viewer', 'operator', 'designer', 'admin']);
export type Role = z.infer<typeof Role>;
export const SessionRequest = z.strictObject({
  secret: z.string().min(1).max(200),
  role: Role.optional().describe('a role below the one that the secret grants'),
  name: z.string().min(1).max(60).optional().describe('name of the actor, for events and operations'),
});
export type SessionRequest = z.infer<typeof SessionRequest>;
export const Session = z.strictObject({ token: z.string(), role: Role, name: z.string(), expires_ms: TimestampMs });
export type Session = z.infer<typeof Session>;

/** One page of a collection; the next page is in `Link: rel=next`. */
export const pageOf = <T extends z.ZodType>(item: T) => z.strictObject({ items: z.array(item), total: z.int().min(0) });
