import { z } from 'zod';
import { BoardDescription, ObservedBoard } from './boards.js';
import { Generation, Id, Name, Origin, TimestampMs } from './common.js';
import { InstanceState } from './lifecycle.js';
import { NodeSpec } from './node-spec.js';
import { NodeSamples } from './telemetry.js';

export const AGENT_PROTOCOL = 1;

export const ObservedInstance = z.strictObject({ id: Id, state: InstanceState, detail: z.string().nullable() });
export const Observed = z.strictObject({
  generation: Generation.describe('the newest generation of which nothing is left to do'),
  state: z.enum(['converged', 'progressing', 'failed']),
  engine: z.enum(['running', 'starting', 'failed', 'stopped']),
  engine_pid: z.int().min(0).nullable(),
  instances: z.array(ObservedInstance),
  boards: z.array(ObservedBoard).max(16).default([]),
  error: z.string().nullable(),
});
export type Observed = z.infer<typeof Observed>;

export const AgentCapabilities = z.strictObject({
  cores: z.int().min(1),
  memory_bytes: z.int().min(0),
  hugepages_bytes: z.int().min(0),
  dpdk: z.string().nullable(),
  engine_memory: z.enum(['hugepages', 'no-huge']).nullable(),
  drivers: z.array(z.string()),
  nfs: z.array(Name),
  iface: z.string(),
  iface_mac: z.string(),
  boards: z.array(BoardDescription).max(16).default([]),
  containers: z
    .strictObject({
      available: z.boolean(),
      detail: z.string().max(1000).describe('which Docker, or why there is none'),
    })
    .optional()
    .describe('whether NFs can be started in containers; absent: not told'),
});
export type AgentCapabilities = z.infer<typeof AgentCapabilities>;

/** Agent to server. `hello` comes first; a join token works once, later connections prove themselves by credential. */
export const AgentMessage = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('hello'),
    protocol: z.int(),
    node: Name,
    origin: Origin,
    version: z.string(),
    boot_id: z.string().max(64),
    join_token: z.string().max(200).nullable(),
    credential: z.string().max(200).nullable(),
    capabilities: AgentCapabilities,
    observed: Observed,
  }),
  z.strictObject({ type: z.literal('observed'), observed: Observed }),
  z.strictObject({
    type: z.literal('event'),
    event: z.string(),
    severity: z.enum(['info', 'warning', 'error']),
    subject: z.string(),
    message: z.string(),
    t_ms: TimestampMs,
    data: z.record(z.string(), z.unknown()),
  }),
  z.strictObject({ type: z.literal('samples'), samples: NodeSamples }),
  z.strictObject({
    type: z.literal('reply'),
    id: z.string(),
    result: z.unknown().optional(),
    error: z.string().nullable(),
  }),
]);
export type AgentMessage = z.infer<typeof AgentMessage>;

/** Server to agent. `credential` is sent once, when a join token was accepted. */
export const ServerMessage = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('welcome'),
    node: Name,
    credential: z.string().nullable(),
    server_version: z.string(),
  }),
  z.strictObject({ type: z.literal('desired'), spec: NodeSpec }),
  z.strictObject({
    type: z.literal('call'),
    id: z.string(),
    method: z.enum(['get_instance_state', 'export_state', 'import_state']),
    instance_id: Id,
    params: z.record(z.string(), z.unknown()),
  }),
  z.strictObject({ type: z.literal('refused'), detail: z.string() }),
]);
export type ServerMessage = z.infer<typeof ServerMessage>;
