import { z } from 'zod';
import { Generation, Id, IpAddress, MacAddress, Name } from './common.js';
import { DirectAttribute, FlowKey } from './filter.js';
import { KeepFlows } from './flow-steering.js';
import { HopId } from './node-spec.js';
import { P4Assignment } from './p4/p4-entries.js';

/**
 * Tables in the order in which a packet passes them: `admit` lists what each port may send, `steer` steers classes and
 * replies into chains, `nf-1` to `nf-3` have the NFs at the beginning of a chain that the switch runs, one after the other,
 * `onward` sends what has passed them on, `keep` has the flows that the switch itself keeps at their targets and passes on the others, `split` sends the flows of a class to one of several first instances by ranges of their hash,
 * `route` forwards by destination address. A table miss drops the packet.
 */
export const SWITCH_TABLES = ['admit', 'steer', 'nf-1', 'nf-2', 'nf-3', 'onward', 'keep', 'split', 'route'] as const;
export const SwitchTable = z.enum(SWITCH_TABLES);
export type SwitchTable = z.infer<typeof SwitchTable>;

/** Of the NFs that a switch runs one after the other for a class. */
export const NF_TABLES = ['nf-1', 'nf-2', 'nf-3'] as const satisfies readonly SwitchTable[];

/**
 * Width in bits of each numeric field. `eth.type` follows the source address on the wire: of a frame with a VLAN tag, it is
 * that of the tag. `ip.fragment` is 1 for every fragment, including the first; `ip.later` for those behind it. `flow_id` and
 * `split` are set by `hash-flow`, `nfs` by `enter-nfs`.
 */
export const SWITCH_FIELD_BITS = {
  'eth.src': 48,
  'eth.dst': 48,
  'eth.type': 16,
  'ip.src': 32,
  'ip.dst': 32,
  'ip.proto': 8,
  'ip.fragment': 1,
  'ip.later': 1,
  'port.src': 16,
  'port.dst': 16,
  from_host: 1,
  flow_id: 16,
  split: 16,
  nfs: 16,
} as const;
export const SwitchField = z.enum(Object.keys(SWITCH_FIELD_BITS) as [keyof typeof SWITCH_FIELD_BITS]);
export type SwitchField = z.infer<typeof SwitchField>;

const FieldValue = z.int().min(0).max(0xffff_ffff_ffff);
const negated = { not: z.literal(true).optional().describe('matches every other value') };

/** Field values that an entry matches: those equal to `value` under `mask`, or all from `lo` to `hi`. */
export const FieldMatch = z.union([
  z.strictObject({ value: FieldValue, mask: FieldValue, ...negated }),
  z.strictObject({ lo: FieldValue, hi: FieldValue, ...negated }),
]);
export type FieldMatch = z.infer<typeof FieldMatch>;

/**
 * Match of an entry. Preconditions: a match on `ip.*` requires the `eth.type` of IPv4; a match on `port.*` requires
 * `ip.proto` to be exactly TCP or UDP, and `ip.fragment` 0, or in a table of NFs `ip.later` 0: a first fragment has its ports
 * there.
 */
export const SwitchMatch = z.strictObject({
  port: Name.optional().describe('ingress port'),
  ipv6_dst: IpAddress.optional().describe('destination of an IPv6 packet; requires the `eth.type` of IPv6'),
  fields: z.partialRecord(SwitchField, FieldMatch),
});
export type SwitchMatch = z.infer<typeof SwitchMatch>;

/** Executed in order. `output` and `group` may also send a packet back to its ingress port. */
export const EntryAction = z.discriminatedUnion('do', [
  z.strictObject({ do: z.literal('set-mac'), field: z.enum(['eth.src', 'eth.dst']), mac: MacAddress }),
  z.strictObject({ do: z.literal('set-hop'), hop: HopId }).describe('of the tag in `eth.dst`; its metadata stays'),
  z.strictObject({ do: z.literal('mark-from-host') }),
  z.strictObject({ do: z.literal('decrement-ttl') }),
  z.strictObject({ do: z.literal('output'), port: Name }),
  z.strictObject({ do: z.literal('group'), group: z.int().min(1).max(0x7fff_ffff) }),
  z
    .strictObject({ do: z.literal('hash-flow'), key: FlowKey.min(1), split: z.int().min(1).max(0xffff) })
    .describe('the hash of the fields becomes `flow_id`; `split` tells whose ranges the table `split` is to look up'),
  z
    .strictObject({ do: z.literal('keep-flow'), split: z.int().min(1).max(0xffff), ...KeepFlows.shape })
    .describe(
      'the switch adds an entry to `keep` by which further packets of the flow take the actions after this one, until none has come for so long; at most `capacity` for the split',
    ),
  z
    .strictObject({ do: z.literal('enter-nfs'), nfs: z.int().min(1).max(0xffff) })
    .describe('tells the tables of NFs whose packet it is: another content of the NFs has another number'),
  z
    .strictObject({ do: z.literal('meter'), meter: z.int().min(1).max(0xffff) })
    .describe('drops the packet, without the actions after this one, when it exceeds the meter'),
  z.strictObject({ do: z.literal('next-table'), table: SwitchTable }),
  z.strictObject({ do: z.literal('drop') }),
]);
export type EntryAction = z.infer<typeof EntryAction>;

/** The part that an entry has in an NF: every packet that an NF takes meets one of its entries. */
export const EntryOfNf = z.strictObject({
  instance_id: Id,
  drops: z
    .string()
    .max(60)
    .optional()
    .describe('reason of the packets that it drops: all, or with `meter` those above the rate; absent: it passes all'),
});
export type EntryOfNf = z.infer<typeof EntryOfNf>;

export const SwitchEntry = z.strictObject({
  table: SwitchTable,
  priority: z.int().min(0).max(65535).describe('the highest matching priority wins'),
  rule_id: Id.nullable().describe('the fabric rule that it belongs to; null: forwarding between hosts'),
  match: SwitchMatch,
  actions: z.array(EntryAction).min(1).max(16),
  nf: EntryOfNf.optional().describe('in a table of NFs; absent elsewhere'),
});
export type SwitchEntry = z.infer<typeof SwitchEntry>;

const GroupId = z.int().min(1).max(0x7fff_ffff);
const BucketActions = z.array(EntryAction).min(1).max(16);

/** The id depends on the content: a different split has a different id, which lets flows switch over atomically. */
export const SwitchGroup = z.discriminatedUnion('kind', [
  z.strictObject({
    id: GroupId,
    kind: z.literal('select').describe('one bucket per packet, by the hash of its flow'),
    key: FlowKey.describe('fields that are hashed; fields missing from a packet are skipped'),
    buckets: z
      .array(z.strictObject({ weight: z.int().min(1).max(65536), actions: BucketActions }))
      .min(1)
      .max(1024),
  }),
  z.strictObject({
    id: GroupId,
    kind: z.literal('all').describe('every bucket gets a copy of the packet'),
    buckets: z
      .array(z.strictObject({ actions: BucketActions }))
      .min(1)
      .max(1024),
  }),
]);
export type SwitchGroup = z.infer<typeof SwitchGroup>;

/** A token bucket over the bytes of whole frames. The id depends on the content, as that of a group. */
export const SwitchMeter = z.strictObject({
  id: z.int().min(1).max(0xffff),
  rate_kbps: z.int().min(1).max(1_000_000_000),
  burst_bytes: z.int().min(64).max(1_000_000_000),
});
export type SwitchMeter = z.infer<typeof SwitchMeter>;

export const SwitchPort = z.strictObject({
  name: Name,
  role: z.enum(['host', 'server', 'switch', 'board']),
  neighbour: Name,
});
export type SwitchPort = z.infer<typeof SwitchPort>;

/**
 * A flow that the switch keeps from the time on when it gets the ranges of the split, until no packet has come for so long. One
 * that has ended is not written again.
 */
export const SwitchException = z.strictObject({
  rule_id: Id,
  split: z.int().min(1).max(0xffff),
  flow_id: z.int().min(0).max(0xffff),
  ip_src: z.int().min(0).max(0xffff_ffff).describe('0: not in the key'),
  ip_dst: z.int().min(0).max(0xffff_ffff).describe('0: not in the key'),
  ip_proto: z.int().min(0).max(0xff).describe('0: not in the key'),
  mac: MacAddress,
  port: Name,
  idle_timeout_s: KeepFlows.shape.idle_timeout_s,
});
export type SwitchException = z.infer<typeof SwitchException>;

/** By what a switch tells apart the flows of a split that it keeps. */
export const KeptFlowKey = SwitchException.pick({ flow_id: true, ip_src: true, ip_dst: true, ip_proto: true });
export type KeptFlowKey = z.infer<typeof KeptFlowKey>;

/** Everything that one switch must hold, entry by entry. Anything else is removed from it. */
export const SwitchSpec = z.strictObject({
  generation: Generation,
  ports: z.array(SwitchPort).max(1024).describe('ports that entries refer to'),
  entries: z.array(SwitchEntry).max(1_000_000),
  groups: z.array(SwitchGroup).max(65536),
  program: P4Assignment.optional().describe(
    "one's own instead of that of the fabric; entries and groups are empty then",
  ),
  meters: z.array(SwitchMeter).max(1024).optional().describe('absent: none'),
  exceptions: z.array(SwitchException).max(65_536).optional().describe('of splits, in the table `keep`; absent: none'),
});
export type SwitchSpec = z.infer<typeof SwitchSpec>;

/** How an entry can match a field: `exact` one value, `prefix` and `mask` under a mask, `range` from lo to hi. */
export const FieldAbility = z.strictObject({
  kind: z.enum(['exact', 'prefix', 'mask', 'range']),
  negation: z.boolean().default(false),
});
export type FieldAbility = z.infer<typeof FieldAbility>;

/** What a switch can do, declared by its driver; the planner lowers rules only to entries within these abilities. */
export const SwitchAbilities = z.strictObject({
  match: z.partialRecord(SwitchField, FieldAbility),
  groups: z.strictObject({
    select: z.array(DirectAttribute).max(5).describe('fields that a select group can hash; empty: no select groups'),
    all: z.boolean(),
    fast_failover: z.boolean(),
  }),
  hashes: z
    .array(FlowKey)
    .max(32)
    .optional()
    .describe('keys whose hash it can match entries on, so that it holds ranges of flows; absent: none'),
  keep_flows: z.boolean().optional().describe('can keep hashed flows at the target of their first packet; absent: no'),
  takes_splits: z
    .boolean()
    .optional()
    .describe(
      'takes over the split of an engine: its hash is H(f), and it keeps the flows that it is told; absent: no',
    ),
  ipv6: z.boolean().describe('forwards by IPv6 destination'),
  meters: z.boolean(),
  mirror: z
    .boolean()
    .describe('copies the packets of a mirror to several targets, each copy with a hop of its own (HydraNF 6.5.2)'),
  traces: z.boolean().optional().describe('tells what it did with single packets; absent: no'),
  rewrite: z.array(z.enum(['eth.src', 'eth.dst', 'ttl'])),
  table_entries: z.partialRecord(SwitchTable, z.int().min(0)).describe('limit per table; absent: no limit of its own'),
  entries: z.int().min(0).nullable().describe('limit for all tables together; null: none'),
});
export type SwitchAbilities = z.infer<typeof SwitchAbilities>;
