import { z } from 'zod';
import { BoardSample } from './boards.js';
import { Id, Name, Origin, TimestampMs } from './common.js';
import { Target } from './node-spec.js';
import { PredictionBand } from './prediction-band.js';
import { sampleKey } from './sample-keys.js';
import { SloBudget } from './slos.js';

/** Counts by log-linear bucket of nanoseconds, `[bucket, count]`, ascending; bounds in `histogram.ts`. */
export const SparseHistogram = z.array(z.tuple([z.int().min(0).max(1023), z.int().min(1)])).max(1024);
export type SparseHistogram = z.infer<typeof SparseHistogram>;

/** Counters since the instance started, except where `interval` says otherwise. */
export const InstanceSample = z.strictObject({
  instance_id: Id,
  packets_in: z.int().min(0),
  packets_out: z.int().min(0),
  bytes_in: z.int().min(0),
  bytes_out: z.int().min(0),
  drops: z.record(z.string().max(60), z.int().min(0)).describe('by reason'),
  queue_depth: z.int().min(0),
  cpu_share: z.number().min(0).nullable().describe('share of one core over the interval; null: not measured'),
  latency_ns: SparseHistogram.describe('from entering the queue to leaving the NF, over the interval'),
});
export type InstanceSample = z.infer<typeof InstanceSample>;

/** Measured where packets leave the chain; latency is from the first engine that saw them to the exit. */
export const ExitSample = z.strictObject({
  exit_id: Id,
  packets: z.int().min(0),
  bytes: z.int().min(0),
  latency_ns: SparseHistogram.describe('over the interval'),
});
export type ExitSample = z.infer<typeof ExitSample>;

/** Of a module beside NFs: a mirror, a merge or a queue. Counters since it started, except where `interval` says otherwise. */
export const ModuleSample = z.strictObject({
  module_id: Id,
  packets_in: z.int().min(0).describe('of a merge: copies'),
  packets_out: z.int().min(0).describe('of a mirror: copies'),
  drops: z.record(z.string().max(60), z.int().min(0)).describe('by reason'),
  waiting: z.int().min(0).describe('in a queue, or in a merge for copies'),
  cpu_share: z.number().min(0).describe('share of one core over the interval'),
});
export type ModuleSample = z.infer<typeof ModuleSample>;

/** What each node of a core's scheduler tree used over the interval. */
export const SchedulerSample = z.strictObject({
  core: z.int().min(0),
  nodes: z
    .array(
      z.strictObject({
        id: Id,
        cpu_share: z.number().min(0).describe('share of the core'),
        pps: z.number().min(0),
        bps: z.number().min(0),
        polling_share: z.number().min(0).describe('share of the core spent on empty queues'),
      }),
    )
    .max(4096),
});
export type SchedulerSample = z.infer<typeof SchedulerSample>;

/**
 * Of an output whose flows are split by ranges (E2 3.4.4). Packets and displaced flows accumulate from the start of the
 * output.
 */
export const SplitSample = z.strictObject({
  from_id: Id.describe('the instance or module whose output it is'),
  edge_id: Id,
  tracks_flows: z.boolean(),
  untracked: z
    .int()
    .min(0)
    .nullable()
    .describe('packets of flows that the table had no room for: they follow the ranges; null: not counted'),
  displaced: z
    .int()
    .min(0)
    .nullable()
    .describe('flows that could not stay: their target is gone, or the table became smaller; null: not counted'),
  targets: z
    .array(
      z.strictObject({
        to: Target,
        packets: z.int().min(0),
        flows: z.int().min(0).describe('tracked, in progress'),
        exceptions: z.int().min(0).describe('of these, kept there although the ranges send them elsewhere'),
      }),
    )
    .max(256),
});
export type SplitSample = z.infer<typeof SplitSample>;

export const NodeSamples = z.strictObject({
  epoch: z.string().max(64).describe('changes when counters restart from zero'),
  seq: z.int().min(0),
  t_ms: TimestampMs,
  clock_ms: z.number().min(0).describe("the engine's monotonic clock: increases within an epoch"),
  interval_ms: z.number().positive(),
  lost: z.int().min(0).describe('sample sets dropped since the epoch began because there was no receiver'),
  cpu_share: z.number().min(0).describe('of the engine process, over the interval'),
  instances: z.array(InstanceSample).max(10_000),
  exits: z.array(ExitSample).max(10_000),
  modules: z.array(ModuleSample).max(10_000).default([]),
  splits: z.array(SplitSample).max(10_000).default([]),
  schedulers: z.array(SchedulerSample).max(256).default([]),
  boards: z.array(BoardSample).max(16).default([]),
});
export type NodeSamples = z.infer<typeof NodeSamples>;

export const LinkSample = z.strictObject({
  link_id: Name,
  t_ms: TimestampMs,
  up: z.boolean(),
  a_to_b_bps: z.number().min(0),
  b_to_a_bps: z.number().min(0),
  utilization: z.number().min(0).describe('of the busier direction'),
  drops: z.int().min(0),
});
export type LinkSample = z.infer<typeof LinkSample>;

/** What the console draws: one value per key and time. */
export const Sample = z.strictObject({
  key: z
    .string()
    .max(200)
    .describe(`\`<kind>/<subject>/<metric>\`, e.g. \`${sampleKey('instance', 'demo.ids.0', 'pps')}\``),
  t_ms: TimestampMs,
  value: z.number(),
  origin: Origin,
});
export type Sample = z.infer<typeof Sample>;

export const SloStatus = z.strictObject({
  chain_id: Id,
  slo_id: Name,
  kind: z
    .enum(['latency', 'throughput', 'loss', 'availability', 'cpu-ratio', 'packet-ratio', 'priority'])
    .describe('the last three: of an objective between two classes'),
  state: z.enum(['met', 'violated', 'no-data', 'warming-up', 'stale']),
  target: z.number(),
  measured: z.number().nullable(),
  predicted: z
    .number()
    .nullable()
    .describe('latency: what should be measured; throughput: the rate at which the first resource saturates'),
  band: PredictionBand.nullable().describe('around `predicted`; null: a throughput'),
  error: z
    .number()
    .nullable()
    .describe(
      'measured / predicted - 1; null where they cannot be compared: a predicted throughput is what could be carried',
    ),
  budget: SloBudget.nullable().describe('null: its seconds are not counted yet'),
  offered: z
    .number()
    .nullable()
    .describe(
      'throughput that the switches let in; null: not counted, or of another objective than throughput, loss and availability',
    ),
  carried: z
    .number()
    .min(0)
    .max(1)
    .nullable()
    .describe('share of the offered packets that left the chain or that an NF refused; null where `offered` is'),
  unit: z
    .enum(['us', 'bps', 'ratio', 'share'])
    .describe(
      '`share`: loss: of the offered packets, those lost; availability: those that got through; priority: of the packets of the class below, those served while packets of the one above waited, at most',
    ),
  cause: z
    .string()
    .optional()
    .describe('why the objective is in this state, or is not measured, where its figures do not say'),
  window_s: z.number(),
  packets: z.int().min(0).describe('packets that the figure is based on'),
  origin: Origin,
  t_ms: TimestampMs,
});
export type SloStatus = z.infer<typeof SloStatus>;

export const Series = z.strictObject({
  key: z.string(),
  unit: z.string(),
  points: z.array(z.tuple([TimestampMs, z.number()])),
});
export type Series = z.infer<typeof Series>;
