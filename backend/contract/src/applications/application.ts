import { z } from 'zod';
import { Generation, Id, Name, TimestampMs } from '../common.js';
import type { SampleMetric } from '../sample-keys.js';

/** Nodes that can run applications: twind supervises those on emulated hosts, agents those on servers and gateways. */
export const NodeKind = z.enum(['host', 'server', 'gateway']);
export type NodeKind = z.infer<typeof NodeKind>;

/** Measured by the program itself. `connections` and `flows` are those currently open; other counts are since its start. */
export const APPLICATION_METRICS = {
  requests: { title: 'Requests', unit: 'count' },
  connections: { title: 'Open connections', unit: 'count' },
  sent: { title: 'Sent', unit: 'count' },
  received: { title: 'Received', unit: 'count' },
  lost: { title: 'Lost', unit: 'count' },
  errors: { title: 'Errors', unit: 'count' },
  bytes: { title: 'Bytes', unit: 'count' },
  flows: { title: 'Flows in progress', unit: 'count' },
  flows_started: { title: 'Flows started', unit: 'count' },
  flows_ended: { title: 'Flows ended', unit: 'count' },
  flows_refused: { title: 'Flows not begun', unit: 'count' },
  flows_with_loss: { title: 'Flows with loss', unit: 'count' },
  late: { title: 'Sent late', unit: 'count' },
  reordered: { title: 'Reordered', unit: 'count' },
  duplicates: { title: 'Duplicates', unit: 'count' },
  max_gap_us: { title: 'Longest gap', unit: 'us' },
  bits_per_second: { title: 'Rate', unit: 'bps' },
  latency_p50_us: { title: 'Latency p50', unit: 'us' },
  latency_p99_us: { title: 'Latency p99', unit: 'us' },
} as const;
export type ApplicationMetricName = keyof typeof APPLICATION_METRICS;

/** The series of each metric. A count since the start is sampled as its rate per second. */
export const APPLICATION_SERIES = {
  requests: 'requests_per_s',
  connections: 'connections',
  sent: 'sent_per_s',
  received: 'received_per_s',
  lost: 'lost_per_s',
  errors: 'errors_per_s',
  bytes: 'bytes_per_s',
  flows: 'flows',
  flows_started: 'flows_started_per_s',
  flows_ended: 'flows_ended_per_s',
  flows_refused: 'flows_refused_per_s',
  flows_with_loss: 'flows_with_loss',
  late: 'late_per_s',
  reordered: 'reordered_per_s',
  duplicates: 'duplicates_per_s',
  max_gap_us: 'max_gap_us',
  bits_per_second: 'bps',
  latency_p50_us: 'latency_p50_us',
  latency_p99_us: 'latency_p99_us',
} as const satisfies Record<ApplicationMetricName, SampleMetric<'application'>>;

export const ApplicationMetric = z.strictObject({
  name: z.enum(Object.keys(APPLICATION_METRICS) as [ApplicationMetricName, ...ApplicationMetricName[]]),
  title: z.string(),
  unit: z.enum(['count', 'bps', 'us']),
  value: z.number().nullable().describe('null: nothing measured yet'),
});
export type ApplicationMetric = z.infer<typeof ApplicationMetric>;

/**
 * `unresponsive`: the process exists but does not answer or report. `failed`: it is not running and will be restarted, or
 * it cannot run at all. `unknown`: its supervisor cannot be reached.
 */
export const ApplicationState = z.enum([
  'starting',
  'running',
  'unresponsive',
  'completed',
  'failed',
  'stopped',
  'unknown',
]);
export type ApplicationState = z.infer<typeof ApplicationState>;

/** An application as its supervisor (twind or an agent) reports it. */
export const ObservedApplication = z.strictObject({
  id: Name,
  revision: Generation.describe('revision of the specification that is in effect'),
  state: ApplicationState,
  since_ms: TimestampMs.describe('when it entered this state'),
  detail: z.string().max(1000).nullable(),
  restarts: z.int().min(0).describe('restarts since its definition last changed'),
  pid: z.int().nullable(),
  metrics: z.record(z.string(), z.number()),
});
export type ObservedApplication = z.infer<typeof ObservedApplication>;

export const ObservedApplications = z.strictObject({
  generation: Generation.describe('newest generation that was accepted'),
  applications: z.array(ObservedApplication),
});
export type ObservedApplications = z.infer<typeof ObservedApplications>;

export const ApplicationStatus = z.strictObject({
  state: ApplicationState,
  since_ms: TimestampMs.nullable(),
  detail: z.string().nullable(),
  restarts: z.int().min(0),
  pid: z.int().nullable(),
  metrics: z.array(ApplicationMetric),
});
export type ApplicationStatus = z.infer<typeof ApplicationStatus>;

/** A kind with the schema of its configuration, for forms and non-TypeScript clients. */
export const ApplicationKindInfo = z.strictObject({
  id: Id,
  title: z.string(),
  description: z.string(),
  runs_on: z.array(NodeKind),
  config_schema: z
    .record(z.string(), z.unknown())
    .describe(
      'JSON Schema 2020-12. `unit` is the unit of a number; `reference` is what an id refers to: `destination` (node or address) or `capture`',
    ),
  metrics: z.array(ApplicationMetric.omit({ value: true })),
});
export type ApplicationKindInfo = z.infer<typeof ApplicationKindInfo>;
