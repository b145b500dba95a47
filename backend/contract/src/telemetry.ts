import { z } from 'zod';
import { BoardSample } from './boards.js';
import { Id, Name, Origin, TimestampMs } from './common.js';
import { PredictionBand } from './prediction-band.js';
import { sampleKey } from './sample-keys.js';

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
  cpu_share: z.number().min(0).describe('share of one core over the interval'),
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
  kind: z.enum(['latency', 'throughput']),
  state: z.enum(['met', 'violated', 'no-data', 'warming-up', 'stale']),
  target: z.number(),
  measured: z.number().nullable(),
  predicted: z
    .number()
    .nullable()
    .describe('latency: what should be measured; throughput: the rate at which the first resource saturates'),
  band: PredictionBand.nullable().describe('around `predicted`; null: a throughput'),
  offered: z.number().nullable().describe('throughput that the switches let in; null: not counted, or a latency'),
  carried: z
    .number()
    .min(0)
    .max(1)
    .nullable()
    .describe('share of the offered packets that left the chain or that an NF refused; null where `offered` is'),
  unit: z.enum(['us', 'bps']),
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
