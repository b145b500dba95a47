import { z } from 'zod';
import { Generation, Id, Name, Origin, TimestampMs } from './common.js';
import { FabricRuleKind } from './fabric-spec.js';
import { ObservedSwitch, RuleLatency, SwitchDescription } from './switch-protocol.js';
import { SwitchEntry, SwitchTable } from './switch-spec.js';

const Count = z.int().min(0);

/** Planned use of one table of a switch. */
export const SwitchTableUse = z.strictObject({
  table: SwitchTable,
  entries: Count,
  available: Count.nullable().describe('null: the table has no limit of its own'),
});
export type SwitchTableUse = z.infer<typeof SwitchTableUse>;

/** A switch: its planned and its observed state. */
export const SwitchState = z.strictObject({
  id: Name,
  origin: Origin,
  program: Name.optional().describe('P4 program of its own; absent: it belongs to the fabric'),
  connected: z.boolean().describe('whether its agent is connected; if not, `observed` is stale'),
  description: SwitchDescription.nullable().describe('null: its agent has never connected'),
  planned: z
    .strictObject({
      generation: Generation,
      entries: Count,
      available: Count.describe('entries of all tables together'),
      groups: Count,
      tables: z.array(SwitchTableUse),
    })
    .nullable()
    .describe('null: nothing planned yet'),
  changing: z
    .string()
    .max(300)
    .optional()
    .describe(
      'while its driver changes: what is waited for. What its agent tells is then of the earlier driver, and left out',
    ),
  lost: z
    .boolean()
    .optional()
    .describe('true: it neither answers nor passes packets, and they go around it if they can. Absent: it is not lost'),
  observed: ObservedSwitch.nullable().describe('null: no report yet'),
  counted_ms: TimestampMs.nullable().describe('when its entry counters were last read; null: not yet'),
});
export type SwitchState = z.infer<typeof SwitchState>;

const owner = {
  chain_id: Id.nullable().describe('null: forwarding between hosts, or a rule without a chain'),
  kind: FabricRuleKind.nullable().describe('kind of its rule; null: forwarding between hosts'),
};
const counters = {
  packets: Count.nullable().describe('since installation; null: not read yet'),
  bytes: Count.nullable(),
};

/** One planned entry with its counters. */
export const SwitchEntryState = z.strictObject({
  index: z.int().min(0).describe('index in the specification of the generation'),
  ...SwitchEntry.shape,
  ...owner,
  ...counters,
});
export type SwitchEntryState = z.infer<typeof SwitchEntryState>;

/** A fabric rule at one switch: the sum of its entries. */
export const SwitchRuleState = z.strictObject({
  rule_id: Id,
  ...owner,
  entries: Count,
  ...counters,
  latency: RuleLatency.optional().describe('absent: the switch stamps no packets, or none has come back lately'),
});
export type SwitchRuleState = z.infer<typeof SwitchRuleState>;
