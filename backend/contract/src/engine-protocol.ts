import { z } from 'zod';
import { Generation, Id, MacAddress } from './common.js';
import { DirectAttribute, FlowKey, FlowRange, MatchTerm, MetadataField } from './filter.js';
import { FlowPortion, FlowSelector } from './flow-selector.js';
import { KeepFlows } from './flow-steering.js';
import { EngineSchedulerNode, HopId, MAX_COPIES, MergeBranch } from './node-spec.js';
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
  z.strictObject({ name: Id, driver: z.literal('af_xdp'), iface: z.string().min(1).max(15) }),
  z
    .strictObject({
      name: Id,
      driver: z.literal('memif'),
      socket: Id.describe('in the abstract namespace: where server and client meet'),
      role: z.enum(['server', 'client']),
    })
    .describe('memory shared with one port of another process'),
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

/** Input of a `merge` that takes no-op packets. */
export const NO_OP_INPUT = MAX_COPIES;

const Gate = z.int().min(0).max(255);
export const ClassifyRule = z.strictObject({ match: z.array(MatchTerm), gate: Gate });
export const SplitRange = z.strictObject({ range: FlowRange, gate: Gate });
export type SplitRange = z.infer<typeof SplitRange>;
const UsedWithinMs = z
  .int()
  .min(1)
  .max(86_400_000)
  .describe('only flows that have had a packet for no longer than that');
const HoldMs = z
  .int()
  .min(1)
  .max(2000)
  .default(500)
  .describe(
    'longest wait; it also ends when too many packets wait, and with another graph: they go on where they were',
  );
const SplitRanges = z.array(SplitRange).min(1).max(256);

const module = <K extends string, C extends z.ZodType>(kind: K, config: C) =>
  z.strictObject({ name: Id, kind: z.literal(kind), config });
const empty = z.strictObject({});

/**
 * Modules that move packets between NFs. Output is on gate 0 unless stated otherwise.
 * `hop_in` strips a hop tag and emits by hop; `hop_out` writes a hop tag; `exit` measures and passes packets to the fabric.
 * A `queue` starts a task. Packets wait there and in a `merge`.
 * A `bytestream` reassembles TCP streams for the NFs behind it; packets pass it at once. Its state is read by `get_state`.
 * A `mirror` emits one copy of each packet on each gate. A `merge` takes the copies of branch `i` on input `i` and no-op
 * packets on `NO_OP_INPUT`; gate 0: merged packets, gate 1: no-op packets for an outer merge, one for each that it gives up.
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
  module(
    'hash_split',
    z.strictObject({
      key: FlowKey,
      ranges: SplitRanges,
      exceptions: KeepFlows.optional().describe('absent: no flow is tracked, and all follow the ranges'),
    }),
  ),
  module('queue', z.strictObject({ capacity: z.int().min(32).max(65536).default(1024) })),
  module(
    'mirror',
    z.strictObject({
      nested: z.boolean(),
      copies: z
        .array(z.strictObject({ writes: z.boolean() }))
        .min(1)
        .max(MAX_COPIES)
        .describe('by gate'),
    }),
  ),
  module(
    'merge',
    z.strictObject({
      nested: z.boolean(),
      branches: z.array(MergeBranch).min(2).max(MAX_COPIES).describe('by input'),
      capacity: z.int().min(64).max(65536).default(4096).describe('packets that may wait for copies'),
      timeout_us: z.int().min(100).max(10_000_000).default(100_000).describe('from the first copy to arrive'),
    }),
  ),
  module(
    'bytestream',
    z.strictObject({
      max_streams: z.int().min(1).max(1_048_576).default(65_536).describe('directions of TCP connections'),
      max_stream_bytes: z
        .int()
        .min(4096)
        .max(1_048_576)
        .default(262_144)
        .describe('how far behind missing bytes others are kept'),
      max_bytes: z.int().min(4096).max(1_073_741_824).default(16_777_216).describe('that wait for missing ones'),
      idle_timeout_s: z.int().min(1).max(86_400).default(300),
      hole_timeout_ms: z.int().min(10).max(600_000).default(10_000).describe('for which missing bytes are waited for'),
    }),
  ),
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

/**
 * An NF, named by the id of its descriptor: input and output gate 0 forward, 1 return. Where gate 2 is linked, a packet that
 * entered forward and was dropped leaves there as a no-op packet: its headers only. It counts as dropped.
 */
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
    .describe('port_in, queue and source modules; each belongs to one worker'),
  schedulers: z
    .array(z.strictObject({ worker: z.int().min(0), tree: z.array(EngineSchedulerNode).min(1).max(4096) }))
    .max(256)
    .optional()
    .describe(
      'at most one per worker, every node after its parent. Absent, and for tasks outside the tree: round robin',
    ),
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
    params: z
      .strictObject({
        module: Id,
        state: z.record(z.string(), z.unknown()),
        renew: z
          .boolean()
          .default(false)
          .describe('a flow that is known takes what came in if that was used later; false: both count'),
      })
      .describe('answers with a FlowImport'),
  }),
  z.strictObject({
    id: z.int(),
    method: z.literal('export_flows'),
    params: z
      .strictObject({
        module: Id,
        flows: FlowSelector,
        after: FlowPortion.optional().describe('the portion before; absent: the first'),
        since: FlowPortion.optional().describe('only flows used since this portion was copied'),
        used_within_ms: UsedWithinMs.optional(),
      })
      .describe('the next portion of the selected flows, as many as fit into a message; answers with a FlowExport'),
  }),
  z.strictObject({
    id: z.int(),
    method: z.literal('release_flows'),
    params: z
      .strictObject({
        module: Id,
        flows: FlowSelector,
        portion: FlowPortion,
        used_within_ms: UsedWithinMs.optional(),
      })
      .describe('removes the selected flows of a portion that were not used since; answers with a FlowRelease'),
  }),
  z.strictObject({
    id: z.int(),
    method: z.literal('configure'),
    params: z
      .strictObject({ module: Id, config: z.record(z.string(), z.unknown()) })
      .describe('another configuration for an NF, between two batches; its state stays; answers like `apply`'),
  }),
  z.strictObject({
    id: z.int(),
    method: z.literal('set_split'),
    params: z
      .strictObject({
        module: Id,
        ranges: SplitRanges,
        keep_flows: z.boolean().default(false).describe('flows in progress stay at their gates; false: they follow'),
      })
      .describe('new ranges for a hash_split, which cover all flows, between two batches; answers like `apply`'),
  }),
  z.strictObject({
    id: z.int(),
    method: z.literal('hold_flows'),
    params: z
      .strictObject({ module: Id, flows: FlowSelector, from: Gate, to: Gate, hold_ms: HoldMs })
      .describe('packets of the selected flows at a gate of a hash_split that tracks flows wait, until `end_hold`'),
  }),
  z.strictObject({
    id: z.int(),
    method: z.literal('end_hold'),
    params: z
      .strictObject({ module: Id, steer: z.boolean().default(false).describe('false: the flows stay where they are') })
      .describe('answers with a FlowHoldEnd; refused where `steer` comes too late'),
  }),
  z.strictObject({
    id: z.int(),
    method: z.literal('get_split'),
    params: z.strictObject({
      module: Id,
      limit: z.int().min(0).max(10_000).default(0).describe('exceptions to list, at most'),
    }),
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

/** Packets, `exception_packets`, `untracked` and `displaced` accumulate from the creation of the module. */
export const SplitStats = z.strictObject({
  tracks_flows: z.boolean(),
  flows: z.int().describe('tracked, in progress'),
  exceptions: z.int().describe('of these, kept at a gate to which the ranges would not send them (E2 3.4.4)'),
  exception_packets: z.int(),
  untracked: z.int().describe('packets of flows that the table had no room for'),
  displaced: z.int().describe('flows that could not stay: their gate is gone, or the table became smaller'),
  gates: z
    .array(z.strictObject({ gate: Gate, packets: z.int(), flows: z.int(), exceptions: z.int() }))
    .max(256)
    .describe('from gate 0 on'),
});
export type SplitStats = z.infer<typeof SplitStats>;

/** The answer of `get_split`. */
export const SplitState = z.strictObject({
  ranges: SplitRanges,
  split: SplitStats,
  idle_ms: z
    .strictObject({ oldest: z.int(), newest: z.int() })
    .nullable()
    .describe('since the last packet of the exceptions idle longest and shortest; null: no exceptions'),
  exceptions: z.array(
    z.strictObject({
      flow: z.partialRecord(DirectAttribute, z.union([z.string(), z.int()])).describe('the fields of its key'),
      gate: Gate,
      idle_ms: z.int(),
    }),
  ),
});
export type SplitState = z.infer<typeof SplitState>;

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
  queue_depth: z.int().nullable().describe('packets that wait in a queue, or in a merge for copies'),
  latency_ns: SparseHistogram.nullable().describe('NFs: queue entry to NF exit; exit: first engine to exit'),
  split: SplitStats.optional().describe('of a hash_split'),
});

/** What a node of a scheduler tree has used since the tree was applied; of a policy, everything below it. */
export const SchedulerStats = z.strictObject({
  id: Id,
  cycles: z.int(),
  packets: z.int(),
  bytes: z.int(),
  runs: z.int(),
  empty_runs: z.int().describe('that found nothing to do'),
  empty_cycles: z.int().describe('spent on them; part of `cycles`'),
});
export const EngineStats = z.strictObject({
  epoch: z.string(),
  t_ns: z.number().min(0),
  generation: Generation,
  graph_digest: z
    .string()
    .max(64)
    .describe(
      'of the graph that runs without its generation, as in the answer of the last `apply`, `set_split` or `configure`; empty: none',
    ),
  cycles_per_second: z.number(),
  workers: z.array(z.strictObject({ worker: z.int(), busy_cycles: z.int(), cpu_ns: z.int() })),
  modules: z.array(ModuleStats),
  schedulers: z
    .array(z.strictObject({ worker: z.int(), nodes: z.array(SchedulerStats) }))
    .default([])
    .describe('of workers with a scheduler tree'),
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
