import { z } from 'zod';
import { DelayUs, Id, Name, RateBps, TimestampMs } from './common.js';
import { CpuLimit } from './element-manager.js';
import { Filter } from './filter.js';
import { NfSplit } from './flow-steering.js';
import { Execution, OffloadMode, ScheduleMode } from './plan-options.js';

const Position = z.strictObject({ x: z.number().min(-1e6).max(1e6), y: z.number().min(-1e6).max(1e6) });
const nodeBase = { id: Name, title: z.string().max(60).optional(), position: Position.optional() };

/** Most ways of one chain, and most classes that take one. */
export const MAX_WAYS = 512;
export const MAX_WAY_CLASSES = 4096;

/** Packets that the switch puts on a way where they enter. */
export const WayClass = z.strictObject({
  id: Name,
  from: z.array(Name).min(1).max(64).describe('of the hosts of the traffic class'),
  match: Filter.describe('direct attributes only, in addition to those of the traffic class'),
});
export type WayClass = z.infer<typeof WayClass>;

/** A value of the attribute `<ingress>.way`, which the switch gives packets and on which the edges of a chain decide. */
export const IngressWay = z.strictObject({
  id: Name,
  classes: z.array(WayClass).max(MAX_WAY_CLASSES).describe('empty: no packet takes the way'),
});
export type IngressWay = z.infer<typeof IngressWay>;

/** One node of the DAG: where traffic enters, an NF, or where it leaves. */
export const ChainNode = z.discriminatedUnion('kind', [
  z.strictObject({
    ...nodeBase,
    kind: z.literal('ingress'),
    ways: z
      .array(IngressWay)
      .min(1)
      .max(MAX_WAYS)
      .optional()
      .describe('packets of no way are not of the chain; absent: edges decide on direct attributes'),
  }),
  z.strictObject({ ...nodeBase, kind: z.literal('egress') }),
  z.strictObject({
    ...nodeBase,
    kind: z.literal('nf'),
    nf: Name,
    config: z.record(z.string(), z.unknown()).default({}),
    cpu_limit: CpuLimit.optional().describe(
      'most of a core that each of its instances may use; only for an NF that runs in containers. Absent: a whole one',
    ),
  }),
]);
export type ChainNode = z.infer<typeof ChainNode>;

export const ChainEdge = z.strictObject({
  id: Name,
  from: Name,
  to: Name,
  filter: Filter.default([]),
  rate_bps: RateBps.optional().describe(
    'estimate of the traffic on this edge; absent: derived from the class and the branch count',
  ),
});
export type ChainEdge = z.infer<typeof ChainEdge>;

/** Which packets the chain processes: their source hosts and conditions on direct attributes (E2 3.2.1). */
export const TrafficClass = z.strictObject({
  from: z.array(Name).min(1).max(64).describe('hosts at whose switch port the traffic enters'),
  match: Filter.default([]).describe('direct attributes only'),
  rate_bps: RateBps.default(10_000_000),
  packet_bytes: z.int().min(64).max(9000).default(800).describe('mean packet length'),
  fail_closed: z
    .boolean()
    .optional()
    .describe('whether switches drop packets of the class that they do not steer into the chain; absent: no'),
});
export type TrafficClass = z.infer<typeof TrafficClass>;

/** Share of the judged time in which an objective is to be met, where it does not say. */
export const DEFAULT_GOAL = 0.99;
/** Seconds over which that is judged, where an objective does not say: 30 days. */
export const DEFAULT_PERIOD_S = 30 * 86_400;

const sloBase = {
  id: Name,
  goal: z
    .number()
    .min(0.5)
    .max(0.99999)
    .optional()
    .describe(`share of the judged time in which it is to be met; absent: ${DEFAULT_GOAL}`),
  period_s: z
    .int()
    .min(3600)
    .max(90 * 86_400)
    .optional()
    .describe('seconds over which that is judged; absent: 30 days'),
};

export const Slo = z.discriminatedUnion('kind', [
  z.strictObject({
    ...sloBase,
    kind: z.literal('latency'),
    percentile: z.number().min(1).max(99.99),
    max_us: DelayUs.min(0.001),
  }),
  z.strictObject({ ...sloBase, kind: z.literal('throughput'), min_bps: RateBps }),
  z.strictObject({
    ...sloBase,
    kind: z.literal('loss'),
    max_share: z
      .number()
      .min(0)
      .max(0.5)
      .describe('of the offered packets: those that are lost on the way, without those that NFs refuse'),
  }),
  z.strictObject({
    ...sloBase,
    kind: z.literal('availability'),
    min_share: z
      .number()
      .min(0.01)
      .max(0.8)
      .describe('of the offered packets: while fewer get through, the chain is not available'),
  }),
]);
export type Slo = z.infer<typeof Slo>;

const ratio = z.number().min(0.001).max(1000);
/**
 * An objective between two path classes of a chain (Alpine 5.2.1). A class is named by an edge that is on only one path
 * from ingress to egress.
 */
export const ClassSlo = z.discriminatedUnion('kind', [
  z.strictObject({
    ...sloBase,
    kind: z.literal('cpu-time'),
    a: Name,
    b: Name,
    ratio: ratio.describe('cycles for a over cycles for b'),
  }),
  z.strictObject({
    ...sloBase,
    kind: z.literal('throughput'),
    a: Name,
    b: Name,
    ratio: ratio.describe('packets of a over packets of b'),
  }),
  z.strictObject({ ...sloBase, kind: z.literal('priority'), above: Name, below: Name }),
]);
export type ClassSlo = z.infer<typeof ClassSlo>;

/** What an operator wrote beside one part of the chain's YAML: one line for each `#`, without the `#`. */
export const ChainComment = z.strictObject({
  before: z.string().max(4000).optional().describe('on the lines above'),
  after: z.string().max(4000).optional().describe('on the same line, or below the last item of a list'),
});
export type ChainComment = z.infer<typeof ChainComment>;

/** The priority of a chain that has none of its own. */
export const USUAL_PRIORITY = 50;
export const ChainPriority = z
  .int()
  .min(0)
  .max(100)
  .describe('where not everything fits, chains of lower priority are left out first; absent: 50');

/** NSD: what an operator draws. Pure content, without identity or version. */
export const ChainDefinition = z.strictObject({
  name: Name,
  title: z.string().min(1).max(80),
  description: z.string().max(2000).default(''),
  traffic_class: TrafficClass,
  nodes: z.array(ChainNode).max(200),
  edges: z.array(ChainEdge).max(600),
  slos: z.array(Slo).max(16).default([]),
  class_slos: z.array(ClassSlo).max(16).default([]),
  priority: ChainPriority.optional(),
  comments: z
    .record(z.string().max(400), ChainComment)
    .refine((comments) => Object.keys(comments).length <= 1000, 'at most 1000 comments')
    .optional()
    .describe('of the YAML, by JSON Pointer with ids in place of indices; they change nothing that runs'),
});
export type ChainDefinition = z.infer<typeof ChainDefinition>;

/** A stored chain: the editable draft, its published versions, and the deployed one. */
export const Chain = z.strictObject({
  id: Id,
  project: Name,
  draft: ChainDefinition,
  revision: z.int().min(1).describe('counts saves of the draft; the ETag'),
  draft_differs: z.boolean().describe('the draft differs from the newest version'),
  versions: z.array(z.strictObject({ version: z.int().min(1), at_ms: TimestampMs, by: z.string(), note: z.string() })),
  deployed_version: z.int().min(1).nullable(),
  deployment_state: z.enum(['none', 'deploying', 'running', 'degraded', 'undeploying', 'failed']),
  created_ms: TimestampMs,
  updated_ms: TimestampMs,
});
export type Chain = z.infer<typeof Chain>;

export const ChainVersion = z.strictObject({
  chain_id: Id,
  version: z.int().min(1),
  definition: ChainDefinition,
  at_ms: TimestampMs,
  by: z.string(),
  note: z.string(),
});
export type ChainVersion = z.infer<typeof ChainVersion>;

export const PublishRequest = z.strictObject({ note: z.string().max(200).default('') });

/** A finding of the validator. `pointer` points into the definition; the canvas marks `node` or `edge`. */
export const ChainProblem = z.strictObject({
  code: z.enum([
    'unknown-nf',
    'bad-filter',
    'cycle',
    'unreachable-node',
    'dead-end',
    'unknown-attribute',
    'attribute-not-upstream',
    'ambiguous-edges',
    'uncovered-traffic',
    'bad-config',
    'unknown-node',
    'duplicate-id',
    'ingress-egress',
    'unknown-host',
    'self-loop',
    'duplicate-edge',
    'class-conflict',
    'metadata-exhausted',
    'lost-attribute',
    'bad-objective',
    'bad-implementation',
    'bad-schedule',
    'flow-state-lost',
  ]),
  severity: z.enum(['error', 'warning']),
  message: z.string(),
  pointer: z.string(),
  node: Name.optional(),
  edge: Name.optional(),
});
export type ChainProblem = z.infer<typeof ChainProblem>;

/** A chain pinned to the definition that is planned or running. */
export const PlannedChain = z.strictObject({
  chain_id: Id,
  version: z.int().min(0).describe('0: an unpublished draft'),
  definition: ChainDefinition,
  execution: Execution.optional().describe('absent: sequential'),
  schedule: ScheduleMode.optional().describe('absent: round-robin'),
  offload: OffloadMode.optional().describe('absent: never'),
  splits: z.array(NfSplit).max(64).optional().describe('of NFs whose flows are not split by default'),
});
export type PlannedChain = z.infer<typeof PlannedChain>;
