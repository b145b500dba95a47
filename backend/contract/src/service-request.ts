import { z } from 'zod';
import { SlotRef } from './boards.js';
import { DelayUs, Id, Name, Place, RateBps, TimestampMs } from './common.js';
import { Filter } from './filter.js';
import { Constraint } from './plan-analysis.js';

/** Most instances of one pool. */
export const MAX_POOL_INSTANCES = 64;
/** Most that an instance of a pool is planned for, in bit/s: the rates of all instances of a pool are one of its chain. */
const MOST_BPS = 1e11;
/** Most requests of one call. */
export const MAX_BULK_REQUESTS = 10_000;

/** Instances of one NF that service requests share. */
export const PoolNf = z.strictObject({
  nf: Name,
  config: z.record(z.string(), z.unknown()).default({}),
  count: z.int().min(1).max(32).default(1).describe('instances in software'),
  rate_bps: RateBps.min(1000)
    .max(MOST_BPS)
    .default(100_000_000)
    .describe('of each instance; plans reserve what it takes'),
});
export type PoolNf = z.infer<typeof PoolNf>;

/** Instances that service requests share. Requests pass its NFs in their order. */
export const ServicePoolDefinition = z.strictObject({
  name: Name.describe('also of the chain that carries its requests'),
  title: z.string().min(1).max(80),
  hosts: z.array(Name).min(1).max(64).describe('from which requests may come'),
  nfs: z.array(PoolNf).min(1).max(16),
  packet_bytes: z.int().min(64).max(9000).default(800).describe('mean packet length'),
  deploys: z
    .boolean()
    .default(true)
    .describe('whether a request may have another instance deployed, in a free slot of a board'),
});
export type ServicePoolDefinition = z.infer<typeof ServicePoolDefinition>;

export const PoolInstance = z.strictObject({
  id: Name.describe('node of the chain'),
  nf: Name,
  on: z.enum(['software', 'board']),
  slot: SlotRef.nullable().describe('with `board`'),
  way: z.int().min(1).describe('number of the way that leads through this instance alone'),
  rate_bps: RateBps,
});
export type PoolInstance = z.infer<typeof PoolInstance>;

export const ServicePool = z.strictObject({
  id: Name,
  definition: ServicePoolDefinition,
  chain_id: Id,
  state: z.enum(['deploying', 'ready', 'failed', 'removing']),
  detail: z
    .string()
    .nullable()
    .describe('why it failed, or what its requests or its removal wait for; null: nothing is in the way'),
  instances: z.array(
    PoolInstance.extend({
      place: Place.nullable().describe('null: it does not run'),
      usable: z.boolean().describe('false: its server or slot has failed, or it does not run yet'),
      latency_us: DelayUs.nullable(),
      measured: z.boolean().describe('the latency is the measured median of the last seconds; false: predicted'),
      booked_bps: RateBps,
      measured_bps: RateBps.nullable(),
    }),
  ),
  requests: z.int().min(0).describe('that hold capacity, or are broken and wait for it'),
  ways: z.int().min(0).describe('in use'),
  created_ms: TimestampMs,
});
export type ServicePool = z.infer<typeof ServicePool>;

/** An SLA: a class of packets that must pass functions in order, within a latency and at a rate (HYPER IV). */
export const ServiceRequestSpec = z.strictObject({
  pool: Name,
  from: z.array(Name).min(1).max(16).describe('hosts that send the packets'),
  match: Filter.describe('direct attributes only'),
  functions: z.array(Name).min(1).max(16).describe('NFs of the pool, in its order'),
  latency_us: DelayUs.min(0.001).describe('bound of the median, from the first engine to the exit'),
  throughput_bps: RateBps.min(1).max(MOST_BPS).describe('that is booked at every instance'),
});
export type ServiceRequestSpec = z.infer<typeof ServiceRequestSpec>;

export const RequestStage = z.strictObject({
  instance: Name,
  nf: Name,
  place: Place,
  transit_us: DelayUs.describe('from the stage before'),
  processing_us: DelayUs,
  measured: z.boolean(),
});
export type RequestStage = z.infer<typeof RequestStage>;

export const RequestWay = z.strictObject({
  number: z.int().min(1),
  stages: z.array(RequestStage).min(1),
  latency_us: DelayUs.describe('when it was chosen'),
});
export type RequestWay = z.infer<typeof RequestWay>;

/** What spoke against an instance that could have been taken. */
export const RejectedInstance = z.strictObject({ instance: z.string(), nf: Name, constraint: Constraint });
export type RejectedInstance = z.infer<typeof RejectedInstance>;

export const ServiceRequestState = z
  .enum(['requested', 'deploying', 'active', 'late', 'refused', 'broken', 'released'])
  .describe('late: its packets take its way, and have taken longer than its bound for some seconds');
export type ServiceRequestState = z.infer<typeof ServiceRequestState>;

export const ServiceRequest = z.strictObject({
  id: Id,
  ...ServiceRequestSpec.shape,
  state: ServiceRequestState,
  way: RequestWay.nullable().describe('null: refused or broken'),
  why: z.string().nullable().describe('refused or broken: why, as a sentence; late: why no other way is taken'),
  shortages: z
    .array(Constraint)
    .describe(
      'refused, broken or late: what could not be met; of packets that are taken, `where` is the id of the request or chain',
    ),
  nearest_us: DelayUs.nullable().describe(
    'refused or late: least latency of any way through instances that have room, each by itself, bound lifted; null: none',
  ),
  rejected: z.array(RejectedInstance).max(128).describe('empty: not known, as for requests in bulk'),
  operation_id: Id.nullable().describe('that enforces it'),
  by: z.string(),
  created_ms: TimestampMs,
  updated_ms: TimestampMs,
});
export type ServiceRequest = z.infer<typeof ServiceRequest>;

/** What a request gets now. */
export const MeasuredRequest = ServiceRequest.extend({
  measured: z.strictObject({
    latency_us: DelayUs.nullable().describe(
      'medians of its instances and the links between them; null: an instance has not been measured lately',
    ),
    bps: RateBps.nullable().describe('of its packets at the switches; null: not measured lately'),
  }),
});
export type MeasuredRequest = z.infer<typeof MeasuredRequest>;

export const BulkRequests = z.strictObject({
  requests: z.array(ServiceRequestSpec).min(1).max(MAX_BULK_REQUESTS),
  dry_run: z.boolean().default(false).describe('decides alike and books nothing'),
  progress_id: Id.optional().describe('by which the progress of the call is told'),
});
export type BulkRequests = z.infer<typeof BulkRequests>;

/** How far a call has come that waits for its turn or is decided on. */
export const BulkProgress = z.strictObject({
  id: Id,
  requests: z.int().min(0),
  decided: z.int().min(0),
  accepted: z.int().min(0),
});
export type BulkProgress = z.infer<typeof BulkProgress>;

export const BulkAnswer = z.strictObject({
  accepted: z.int().min(0),
  refused: z.int().min(0),
  dry_run: z.boolean(),
  decided_ms: z.number().min(0).describe('time that the decisions took'),
  results: z
    .array(
      z.strictObject({
        id: Id.nullable().describe('null: refused, or a dry run'),
        latency_us: DelayUs.nullable().describe('null: refused'),
        why: z.string().nullable().describe('refused: why'),
      }),
    )
    .describe('in the order of the requests'),
});
export type BulkAnswer = z.infer<typeof BulkAnswer>;
