import { z } from 'zod';
import { Generation, Id, Name, Place } from './common.js';
import { FlowKey, FlowRange, MatchTerm } from './filter.js';
import { KeepFlows, MOST_EXCEPTIONS, SplitFlow } from './flow-steering.js';
import { HopId } from './node-spec.js';
import { SwitchMeter } from './switch-spec.js';

export const FabricRuleKind = z.enum(['classify', 'hop', 'mirror', 'return', 'guard', 'fragment']);

/**
 * What an NF is on a switch. `filter`: the first rule that holds decides; a rule with a port holds for TCP and UDP packets that
 * carry their ports, so for no later fragment. `count`: passes everything. `limit`: drops what exceeds a token bucket.
 */
export const NfOnSwitch = z.discriminatedUnion('program', [
  z.strictObject({
    program: z.literal('filter'),
    rules: z.array(z.strictObject({ match: z.array(MatchTerm), allow: z.boolean() })).max(4096),
    allow: z.boolean().describe('what no rule holds for'),
  }),
  z.strictObject({ program: z.literal('count') }),
  z.strictObject({
    program: z.literal('limit'),
    rate_kbps: SwitchMeter.shape.rate_kbps,
    burst_bytes: SwitchMeter.shape.burst_bytes,
  }),
]);
export type NfOnSwitch = z.infer<typeof NfOnSwitch>;

/** Why an NF on a switch drops packets. */
export const SWITCH_REFUSALS = { filter: 'denied', limit: 'over_rate' } as const;

/** The instance that a switch runs of an NF of a chain. */
export function switchInstanceId(nf: string, switchId: string): string {
  return `${nf}.${switchId}`;
}

const RuleFields = z.strictObject({
  id: Id,
  chain_id: Id.nullable(),
  priority: z.int().min(1).max(60000),
  from_hosts: z.array(Name).describe('hosts whose port the rule applies to; empty: every port'),
  from_servers: z
    .array(Place)
    .describe(
      'kinds `hop`, `mirror`: servers, and slots at switches, that send packets with the tag; switches that tag packets are not listed',
    ),
  match: z.array(MatchTerm),
  hop: HopId.nullable().describe('kinds `hop`, `mirror`: the tag that is matched'),
  key: FlowKey,
});
const Targets = z.array(
  z.strictObject({
    range: FlowRange,
    hop: HopId,
    server: Place,
    metadata: z
      .int()
      .min(1)
      .max(65535)
      .optional()
      .describe('kind `classify`: the metadata word that packets are given; absent: 0'),
  }),
);

/**
 * What switches do with some packets. `classify` sends a class to its first hop; with several targets, the switch hashes
 * `key` and picks by the width of their ranges. `hop` forwards by tag, `mirror` sends a copy of a
 * tagged packet to each target (HydraNF 6.5.2), at the switch of the server that sends it, `return` sends replies to the NF that owns their
 * destination, `guard` keeps packets of a class that were not classified from being forwarded between hosts, and `fragment`
 * drops the fragments of TCP and UDP that may be of a class with a term on a port: fragments do not tell their ports.
 */
export const FabricRule = z.discriminatedUnion('kind', [
  RuleFields.extend({
    kind: FabricRuleKind.extract(['classify']),
    targets: Targets.min(1),
    keep_flows: KeepFlows.optional().describe('flows in progress stay at theirs when the ranges change; absent: none'),
    exceptions: z
      .strictObject({
        idle_timeout_s: KeepFlows.shape.idle_timeout_s,
        flows: z.array(z.strictObject({ flow: SplitFlow, hop: HopId, server: Place })).max(MOST_EXCEPTIONS),
      })
      .optional()
      .describe(
        'of a split that engines had before: flows that go elsewhere than the ranges say until they end, also none; the switch has to hash as engines do. Absent: no such split',
      ),
    nfs: z
      .array(z.strictObject({ nf: Id.describe('node of the policy graph'), runs: NfOnSwitch }))
      .min(1)
      .max(3)
      .optional()
      .describe('NFs that packets pass at the switch where they enter, before they go to a target; absent: none'),
  }),
  RuleFields.extend({ kind: FabricRuleKind.extract(['hop', 'return']), targets: Targets.length(1) }),
  RuleFields.extend({ kind: FabricRuleKind.extract(['mirror']), targets: Targets.min(2) }),
  RuleFields.extend({ kind: FabricRuleKind.extract(['guard', 'fragment']), targets: Targets.max(0) }),
]);
export type FabricRule = z.infer<typeof FabricRule>;

export const FabricSpec = z.strictObject({ generation: Generation, rules: z.array(FabricRule) });
export type FabricSpec = z.infer<typeof FabricSpec>;
