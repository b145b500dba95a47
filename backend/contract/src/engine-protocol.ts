import { z } from 'zod';
import { Generation, Id, MacAddress } from './common.js';
import { FlowKey, FlowRange, MatchTerm, MetadataField } from './filter.js';
import { HopId } from './node-spec.js';
import { SparseHistogram } from './telemetry.js';

/**
 * Engine control: one JSON object per line over a unix stream socket. Longest line in bytes. A second socket, with
 * `HEARTBEAT_SUFFIX` added to the path, answers only the method `heartbeat`, without waiting for other requests;
 * container NFs and boards have one too.
 */
export const ENGINE_LINE_LIMIT = 4 * 1024 * 1024;

export const HEARTBEAT_SUFFIX = '.beat';

export const EnginePort = z.discriminatedUnion('driver', [
  z.strictObject({ name: Id, driver: z.literal('af_packet'), iface: z.string().min(1).max(15) }),
  z.strictObject({ name: Id, driver: z.literal('ring') }),
  z.strictObject({
    name: Id,
    driver: z.literal('null'),
    copy: z.boolean().default(false),
    packet_bytes: z.int().min(60).max(1500).default(60),
  }),
  z.strictObject({
    name: Id,
    driver: z.literal('pcap'),
    rx_file: z.string().nullable().default(null),
    tx_file: z.string().nullable().default(null),
  }),
]);
export type EnginePort = z.infer<typeof EnginePort>;

const Gate = z.int().min(0).max(255);
export const ClassifyRule = z.strictObject({ match: z.array(MatchTerm), gate: Gate });
export const SplitRange = z.strictObject({ range: FlowRange, gate: Gate });

const module = <K extends string, C extends z.ZodType>(kind: K, config: C) =>
  z.strictObject({ name: Id, kind: z.literal(kind), config });
const empty = z.strictObject({});

/**
 * Modules that move packets between NFs. Output is on gate 0 unless stated otherwise.
 * `hop_in` strips a hop tag and emits by hop; `hop_out` writes a hop tag; `exit` measures and passes packets to the fabric.
 * A `queue` starts a task and is the only place where packets wait.
 */
const PlumbingModule = z.discriminatedUnion('kind', [
  module('port_in', z.strictObject({ port: Id })),
  module('port_out', z.strictObject({ port: Id })),
  module('hop_in', z.strictObject({ hops: z.array(z.strictObject({ hop: HopId, gate: Gate })).max(256) })),
  module('hop_out', z.strictObject({ hop: HopId })),
  module('exit', z.strictObject({ exit_id: Id, dst_mac: MacAddress, src_mac: MacAddress })),
  module(
    'classify',
    z.strictObject({ rules: z.array(ClassifyRule).max(255), default_gate: Gate.nullable().default(null) }),
  ),
  module('hash_split', z.strictObject({ key: FlowKey, ranges: z.array(SplitRange).min(1).max(256) })),
  module('queue', z.strictObject({ capacity: z.int().min(32).max(65536).default(1024) })),
  module('latency_stamp', empty),
  module('counter', empty),
  module(
    'source',
    z.strictObject({
      packet_bytes: z.int().min(60).max(1500).default(60),
      flows: z.int().min(1).max(65536).default(1),
      rate_pps: z.number().min(0).default(0),
    }),
  ),
  module('sink', empty),
]);

const PLUMBING_KINDS: ReadonlySet<string> = new Set(PlumbingModule.options.map(({ shape }) => shape.kind.value));

/** An NF, named by the id of its descriptor: input and output gate 0 forward, 1 return. */
const NfModule = z.strictObject({
  name: Id,
  kind: Id.refine((kind) => !PLUMBING_KINDS.has(kind), 'is not an NF'),
  config: z.record(z.string(), z.unknown()),
  metadata: z.record(z.string(), MetadataField).default({}),
});

/** A module of the data plane; the engine refuses an NF that it does not have. */
export const EngineModule = z.union([PlumbingModule, NfModule]);
export type EngineModule = z.infer<typeof EngineModule>;

export const EngineLink = z.strictObject({ from: Id, gate: Gate, to: Id, input: Gate.default(0) });

/** The whole data plane of one server. Modules with unchanged name and kind keep state and counters across an apply. */
export const EngineGraph = z.strictObject({
  generation: Generation,
  ports: z.array(EnginePort).max(64),
  modules: z.array(EngineModule).max(4096),
  links: z.array(EngineLink).max(16384),
  tasks: z
    .array(z.strictObject({ module: Id, worker: z.int().min(0).default(0) }))
    .max(4096)
    .describe('port_in, queue and source modules; served round robin in this order'),
});
export type EngineGraph = z.infer<typeof EngineGraph>;

export const EngineRequest = z.discriminatedUnion('method', [
  z.strictObject({ id: z.int(), method: z.literal('describe'), params: empty }),
  z.strictObject({ id: z.int(), method: z.literal('apply'), params: EngineGraph }),
  z.strictObject({ id: z.int(), method: z.literal('stats'), params: empty }),
  z.strictObject({
    id: z.int(),
    method: z.literal('get_state'),
    params: z.strictObject({ module: Id, limit: z.int().min(1).max(100_000).default(1000) }),
  }),
  z.strictObject({ id: z.int(), method: z.literal('export_state'), params: z.strictObject({ module: Id }) }),
  z.strictObject({
    id: z.int(),
    method: z.literal('import_state'),
    params: z.strictObject({ module: Id, state: z.record(z.string(), z.unknown()) }),
  }),
  z.strictObject({ id: z.int(), method: z.literal('shutdown'), params: empty }),
]);
export type EngineRequest = z.infer<typeof EngineRequest>;

export const EngineError = z.strictObject({
  code: z.enum([
    'bad-request',
    'invalid-graph',
    'invalid-config',
    'no-such-module',
    'port-failed',
    'out-of-memory',
    'internal',
  ]),
  detail: z.string(),
  pointer: z.string().nullable().describe('JSON Pointer into params'),
});
export const EngineResponse = z.union([
  z.strictObject({ id: z.int().nullable(), result: z.record(z.string(), z.unknown()) }),
  z.strictObject({ id: z.int().nullable(), error: EngineError }),
]);
export type EngineResponse = z.infer<typeof EngineResponse>;

export const EngineDescription = z.strictObject({
  version: z.string(),
  dpdk: z.string(),
  pid: z.int(),
  epoch: z.string(),
  memory: z.enum(['hugepages', 'no-huge']),
  workers: z.int().min(1),
  generation: Generation,
  modules: z.array(z.string()),
});
export type EngineDescription = z.infer<typeof EngineDescription>;

/** Counters and `latency_ns` accumulate from the creation of the module (readers take differences). */
export const ModuleStats = z.strictObject({
  name: Id,
  kind: z.string(),
  packets_in: z.int(),
  packets_out: z.int(),
  bytes_in: z.int(),
  bytes_out: z.int(),
  drops: z.record(z.string(), z.int()),
  cycles: z.int().describe('spent in this module only'),
  queue_depth: z.int().nullable(),
  latency_ns: SparseHistogram.nullable().describe('NFs: queue entry to NF exit; exit: first engine to exit'),
});
export const EngineStats = z.strictObject({
  epoch: z.string(),
  t_ns: z.number().min(0),
  generation: Generation,
  graph_digest: z.string().max(64).describe('of the graph that runs, as in the answer of its `apply`; empty: none'),
  cycles_per_second: z.number(),
  workers: z.array(z.strictObject({ worker: z.int(), busy_cycles: z.int(), cpu_ns: z.int() })),
  modules: z.array(ModuleStats),
  ports: z.array(
    z.strictObject({
      name: Id,
      up: z.boolean(),
      rx_packets: z.int(),
      rx_bytes: z.int(),
      rx_dropped: z.int(),
      tx_packets: z.int(),
      tx_bytes: z.int(),
      tx_dropped: z.int(),
    }),
  ),
});
export type EngineStats = z.infer<typeof EngineStats>;
