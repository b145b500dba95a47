import { z } from 'zod';
import { Generation, Id, Ipv4Address, Name, Port, RateBps, TimestampMs } from './common.js';
import { Infrastructure } from './infrastructure.js';
import { Capability } from './lifecycle.js';
import { LinkSample } from './telemetry.js';

/** How an emulated server's agent reaches the control plane; tokens are one-time. */
export const TwinAgentSettings = z.strictObject({
  server_url: z.string().max(300),
  join_tokens: z.record(Name, z.string()),
});

/** `PUT /spec`: what the twin must be. `infrastructure: null` takes it down. */
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
  fabric: z.strictObject({
    generation: Generation,
    error: z.string().nullable(),
    rules: z.array(z.strictObject({ id: Id, packets: z.int().min(0), bytes: z.int().min(0) })),
  }),
  build_ms: z.number().min(0).nullable(),
});
export type TwinState = z.infer<typeof TwinState>;

/** Traffic that the twin's hosts make. Ends by itself at `duration_s` (0: until deleted). */
export const TrafficRequest = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('http'),
    from: Name,
    to: Name,
    port: Port.default(80),
    path: z.string().startsWith('/').max(500).default('/'),
    body: z.string().max(4096).default(''),
    rate_per_s: z.number().positive().max(2000).default(10),
    count: z.int().min(0).max(1_000_000).default(0),
    duration_s: z.number().min(0).max(86400).default(0),
  }),
  z.strictObject({
    kind: z.literal('iperf3'),
    from: Name,
    to: Name,
    protocol: z.enum(['tcp', 'udp']).default('tcp'),
    rate_bps: RateBps.default(10_000_000),
    packet_bytes: z.int().min(64).max(1460).default(1400),
    duration_s: z.number().min(1).max(86400).default(10),
  }),
  z.strictObject({
    kind: z.literal('probe'),
    from: Name,
    to: Name,
    port: Port.default(9000),
    rate_per_s: z.number().positive().max(1000).default(50),
    duration_s: z.number().min(0).max(86400).default(0),
  }),
  z.strictObject({
    kind: z.literal('pcap'),
    from: Name,
    pcap_id: Id,
    rate_pps: z.number().positive().max(100_000).default(1000),
    loops: z.int().min(1).max(1000).default(1),
    duration_s: z.number().min(0).max(86400).default(0),
  }),
]);
export type TrafficRequest = z.infer<typeof TrafficRequest>;

export const TrafficStatus = z.strictObject({
  id: Id,
  request: TrafficRequest,
  state: z.enum(['starting', 'running', 'completed', 'failed', 'stopped']),
  started_ms: TimestampMs,
  ended_ms: TimestampMs.nullable(),
  sent: z.int().min(0).describe('requests, probes or packets'),
  received: z.int().min(0),
  errors: z.int().min(0),
  bits_per_second: z.number().min(0).nullable(),
  latency_us: z
    .strictObject({ p50: z.number(), p99: z.number() })
    .nullable()
    .describe('http: request to reply; probe: one way'),
  detail: z.string().nullable(),
});
export type TrafficStatus = z.infer<typeof TrafficStatus>;

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

/** What a host's own interface sees, by tcpdump in its namespace. */
export const CaptureRequest = z.strictObject({
  host: Name,
  filter: z.string().max(200).default('').describe('pcap filter expression'),
  packets: z.int().min(1).max(10_000).default(100),
  duration_s: z.number().min(1).max(300).default(10),
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
  detail: z.string().nullable(),
});
export type CaptureStatus = z.infer<typeof CaptureStatus>;

/** One line of `GET /watch` (NDJSON). */
export const TwinWatchLine = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('state'), state: TwinState }),
  z.strictObject({ type: z.literal('links'), links: z.array(LinkSample) }),
  z.strictObject({
    type: z.literal('event'),
    event: z.string(),
    severity: z.enum(['info', 'warning', 'error']),
    subject: z.string(),
    message: z.string(),
    t_ms: TimestampMs,
  }),
]);
export type TwinWatchLine = z.infer<typeof TwinWatchLine>;
export const TwinCapabilities = z.strictObject({ capabilities: z.array(Capability) });
export type TwinCapabilities = z.infer<typeof TwinCapabilities>;
