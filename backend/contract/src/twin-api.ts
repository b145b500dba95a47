import { z } from 'zod';
import { ObservedApplications } from './applications/application.js';
import { Generation, Id, Ipv4Address, Name, Port, TimestampMs } from './common.js';
import { Infrastructure } from './infrastructure.js';
import { Capability } from './lifecycle.js';
import { LinkSample } from './telemetry.js';

/** How the agents of emulated servers and switches reach the server; one-time tokens by node. */
export const TwinAgentSettings = z.strictObject({
  server_url: z.string().max(300),
  join_tokens: z.record(Name, z.string()),
});

/** `PUT /spec`: desired state of the twin. `infrastructure: null` takes it down. */
export const TwinSpec = z.strictObject({
  generation: Generation,
  infrastructure: Infrastructure.nullable(),
  agents: TwinAgentSettings.nullable(),
});
export type TwinSpec = z.infer<typeof TwinSpec>;

export const TwinNodeState = z.strictObject({
  id: Name,
  kind: z.enum(['server', 'switch', 'host', 'board']),
  state: z.enum(['up', 'starting', 'failed', 'down']),
  pid: z.int().nullable(),
  detail: z.string().nullable(),
});
export type TwinNodeState = z.infer<typeof TwinNodeState>;

export const Fault = z.strictObject({
  id: Id,
  kind: z.enum(['link-down', 'agent-kill', 'engine-kill', 'board-kill', 'slot-stuck']),
  target: Name.describe('a link, a server or a board'),
  slot: z.int().min(0).max(15).optional().describe('with `slot-stuck`'),
  since_ms: TimestampMs,
});
export type Fault = z.infer<typeof Fault>;
export const FaultRequest = Fault.omit({ id: true, since_ms: true });

export const TwinState = z.strictObject({
  generation: Generation,
  phase: z.enum(['down', 'building', 'up', 'failed', 'tearing-down']),
  error: z.string().nullable(),
  nodes: z.array(TwinNodeState),
  links: z.array(LinkSample),
  faults: z.array(Fault),
  build_ms: z.number().min(0).nullable(),
});
export type TwinState = z.infer<typeof TwinState>;

export const PcapInfo = z.strictObject({
  id: Id,
  name: z.string().max(120),
  bytes: z.int(),
  packets: z.int(),
  duration_s: z.number(),
  link_type: z.string(),
  created_ms: TimestampMs,
});
export type PcapInfo = z.infer<typeof PcapInfo>;

/** A tcpdump capture on the interface of a host, in its namespace. */
export const CaptureRequest = z.strictObject({
  host: Name,
  filter: z.string().max(200).default('').describe('pcap filter expression'),
  packets: z.int().min(1).max(10_000).default(1000).describe('stops after so many packets'),
  duration_s: z.number().min(1).max(300).default(10).describe('or after this time, whichever comes first'),
});
export type CaptureRequest = z.infer<typeof CaptureRequest>;
export const CaptureStatus = z.strictObject({
  id: Id,
  request: CaptureRequest,
  state: z.enum(['starting', 'running', 'completed', 'failed']),
  packets: z.array(
    z.strictObject({
      t_ms: TimestampMs,
      src: Ipv4Address.nullable(),
      dst: Ipv4Address.nullable(),
      protocol: z.string(),
      src_port: Port.nullable(),
      dst_port: Port.nullable(),
      length: z.int(),
    }),
  ),
  stopped_by: z
    .enum(['packets', 'duration', 'user'])
    .nullable()
    .describe('which limit ended it, or that a user did; null: none, or not yet'),
  elapsed_s: z.number().min(0).nullable().describe('how long it has captured; null: not ended'),
  detail: z.string().nullable(),
});
export type CaptureStatus = z.infer<typeof CaptureStatus>;

/** One line of `GET /watch` (NDJSON). */
export const TwinWatchLine = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('state'), state: TwinState }),
  z.strictObject({ type: z.literal('links'), links: z.array(LinkSample) }),
  z.strictObject({ type: z.literal('applications'), observed: ObservedApplications }),
  z.strictObject({
    type: z.literal('event'),
    event: z.string().max(100).describe('a `TwinEventType`'),
    subject: z.string(),
    message: z.string(),
    t_ms: TimestampMs,
  }),
]);
export type TwinWatchLine = z.infer<typeof TwinWatchLine>;
export const TwinCapabilities = z.strictObject({ capabilities: z.array(Capability) });
export type TwinCapabilities = z.infer<typeof TwinCapabilities>;
