import { z } from 'zod';
import { Name, SlotResources, TimestampMs } from './common.js';
import { ContainerImage } from './container-image.js';
import { CostProfile } from './cost-profile.js';
import { AcceleratedMode } from './element-manager.js';
import { FlowKey } from './filter.js';
import { SwitchAction } from './infrastructure.js';
import { LearntProfile } from './learnt-profile.js';
import { LegacyProgram } from './legacy-program.js';

/** Packet fields that an NF may read or change, for dependency analysis (HydraNF 6). */
export const PacketField = z.enum([
  'eth.src',
  'eth.dst',
  'ip.src',
  'ip.dst',
  'ip.proto',
  'ip.ttl',
  'ip.dscp',
  'port.src',
  'port.dst',
  'tcp.flags',
  'payload',
  'length',
]);
export type PacketField = z.infer<typeof PacketField>;
const PacketFields = z.array(PacketField).max(PacketField.options.length);

/** Where an NF adds or removes bytes: before the IP header, before the transport header, before the payload, at the end. */
export const ResizedAt = z.enum(['l3', 'l4', 'payload', 'end']);
export type ResizedAt = z.infer<typeof ResizedAt>;

/** An attribute that the NF derives and attaches to each packet, with every value it can take (E2 3.2.2). */
export const DerivedAttribute = z.strictObject({
  name: Name,
  title: z.string().max(80),
  values: z
    .array(z.strictObject({ value: Name, title: z.string().max(80) }))
    .min(1)
    .max(255),
});
export type DerivedAttribute = z.infer<typeof DerivedAttribute>;

/** Traffic that an NF does not process. */
export const UnsupportedTraffic = z.strictObject({
  traffic: z.enum(['ipv6']),
  action: z.enum(['pass', 'drop']).describe('what becomes of it'),
  counter: z
    .string()
    .min(1)
    .max(40)
    .optional()
    .describe('figure in the state of the NF, or reason of drops, that counts it'),
});
export type UnsupportedTraffic = z.infer<typeof UnsupportedTraffic>;

export const Implementation = z.strictObject({
  kind: z.enum(['software', 'container', 'board']),
  driver: z.enum(['engine', 'process', 'container', 'board']),
  cost: CostProfile,
  source: z.string().max(200).optional().describe('what measured the cycles, when and on which machine'),
  resources: SlotResources.default({}).describe('resources that a board slot must have; empty for software'),
  unsupported: z
    .array(UnsupportedTraffic)
    .max(8)
    .optional()
    .describe('in addition to what the NF itself does not process'),
  program: LegacyProgram.optional().describe(
    'with the driver `process`: what it runs, also where the NF has an implementation with the driver `container`',
  ),
  image: ContainerImage.optional().describe(
    'with the driver `container`: the image that it runs. Absent: the NF of the engine, or the program of the process',
  ),
});
export type Implementation = z.infer<typeof Implementation>;

/** What a switch needs to run the NF in its tables (E2 3.4.1 step 5). */
export const SwitchOffload = z.strictObject({
  entries: z.int().min(1).max(1_000_000).describe('table entries needed with any configuration'),
  entries_per: z.string().max(40).optional().describe('configuration field; each of its items takes one more entry'),
  actions: z.array(SwitchAction).min(1),
});
export type SwitchOffload = z.infer<typeof SwitchOffload>;

/** As what a switch that carries a chain's packets runs the NF (E2 3.4.1 step 5). */
export const OnSwitch = z.strictObject({
  program: z
    .enum(['filter', 'count', 'limit'])
    .describe(
      'filter: `rules` and `default_action` of the configuration; limit: its `rate_bps` and `burst_bytes`; count: packets and bytes',
    ),
  requires: z
    .record(z.string().max(40), z.union([z.string(), z.number(), z.boolean()]))
    .optional()
    .describe('values that the configuration must have; absent: any'),
  lacks: z.string().max(120).optional().describe('what the NF does not do there; absent: nothing'),
});
export type OnSwitch = z.infer<typeof OnSwitch>;

/** What an NF does to packets; what contradicts itself is refused. */
const PacketActions = z
  .strictObject({
    reads: PacketFields,
    writes: PacketFields,
    adds: PacketFields.default([]),
    removes: PacketFields.default([]),
    resizes_at: ResizedAt.optional().describe(
      'with `adds` or `removes`. Absent: it cannot be merged with other changes',
    ),
    may_drop: z.boolean(),
    answers: z
      .boolean()
      .optional()
      .describe(
        'with `return_traffic`: it may answer packets in place of their destination, so that they go no further',
      ),
    refuses: z
      .array(z.string().min(1).max(40))
      .max(16)
      .optional()
      .describe('reasons of drops that its configuration asks for; drops for any other reason are losses'),
  })
  .check(({ value: { writes, adds, removes, may_drop, answers }, issues }) => {
    const refuse = (path: PropertyKey[], message: string) =>
      issues.push({ code: 'custom', input: undefined, path, message });
    if (answers && !may_drop) refuse(['answers'], 'must be false without `may_drop`: what it answers goes no further');
    const length = writes.indexOf('length');
    if (length >= 0 && adds.length + removes.length === 0)
      refuse(['writes', length], 'needs a field in `adds` or `removes`: a length changes with bytes that come or go');
  });

/** VNFD: what an NF is, needs and does to packets. Forms are generated from `config_schema` (JSON Schema 2020-12). */
export const NfDescriptor = z.strictObject({
  id: Name,
  title: z.string().min(1).max(60).regex(/\S/, 'must not be blank'),
  summary: z.string().max(240).regex(/^$|\S/, 'must not be blank').describe('empty: none'),
  category: z.enum(['security', 'translation', 'measurement', 'traffic', 'forwarding']),
  icon: z
    .string()
    .max(40)
    .regex(/^[a-z0-9][a-z0-9-]*$/, 'must be the name of a Tabler icon')
    .describe('name of a Tabler icon'),
  version: z
    .string()
    .regex(/^\d{1,9}\.\d{1,9}\.\d{1,9}$/, 'must be a semantic version: three numbers of at most 9 digits'),
  attributes: z.array(DerivedAttribute).max(8),
  actions: PacketActions,
  state: z.strictObject({
    kind: z.enum(['none', 'static', 'flow', 'aggregate']),
    key: FlowKey.describe('fields that identify an entry; rows of exported state begin with these columns'),
  }),
  affinity: FlowKey.describe(
    'packets with equal values of these fields must reach the same instance; empty: any instance',
  ),
  return_traffic: z
    .boolean()
    .default(false)
    .describe('the NF rewrites addresses, so replies must come back through it'),
  bytestream: z
    .strictObject({ field: Name, value: z.string().min(1).max(40) })
    .optional()
    .describe('the NF reads reassembled TCP streams where this field of its configuration has this value'),
  acceleration: AcceleratedMode.optional().describe(
    'how the NF is switched to an accelerator of its server while it runs, on the drivers `engine` and `container`. Absent: it cannot be',
  ),
  scaling: z.strictObject({ max_instances: z.int().min(1).max(1024) }),
  implementations: z.array(Implementation).min(1).max(16),
  offload: SwitchOffload.optional(),
  on_switch: OnSwitch.optional().describe('absent: no switch runs it'),
  unsupported: z.array(UnsupportedTraffic).max(8).optional(),
  config_schema: z.record(z.string(), z.unknown()),
  default_config: z.record(z.string(), z.unknown()),
});
export type NfDescriptor = z.infer<typeof NfDescriptor>;

/** A descriptor as the catalogue has it. */
export const CataloguedNf = NfDescriptor.extend({
  written: z
    .strictObject({ by: z.string(), revision: z.int().min(1), updated_ms: TimestampMs })
    .optional()
    .describe('of a legacy NF that a user described; absent: it came with Orrery and cannot be changed'),
  learnt: z
    .array(LearntProfile)
    .max(3)
    .optional()
    .describe('profiles that replace the declared ones of implementations; absent: none'),
});
export type CataloguedNf = z.infer<typeof CataloguedNf>;
