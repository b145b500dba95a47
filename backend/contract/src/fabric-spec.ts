import { z } from 'zod';
import { Generation, Id, Name } from './common.js';
import { FlowKey, FlowRange, MatchTerm } from './filter.js';
import { HopId } from './node-spec.js';

/** First hop of a class at the switch. With several targets, the switch hashes `key` and picks by the width of their ranges. */
export const FabricRule = z.strictObject({
  id: Id,
  chain_id: Id.nullable(),
  kind: z.enum(['classify', 'hop', 'return']),
  priority: z.int().min(1).max(60000),
  from_hosts: z.array(Name).describe('hosts whose port the rule applies to; empty: every port'),
  from_servers: z
    .array(Name)
    .describe('kind `hop`: servers that send packets with the tag; switches that tag packets are not listed'),
  match: z.array(MatchTerm),
  hop: HopId.nullable().describe('kind `hop`: the tag that is matched'),
  key: FlowKey,
  targets: z.array(z.strictObject({ range: FlowRange, hop: HopId, server: Name })).min(1),
});
export type FabricRule = z.infer<typeof FabricRule>;

export const FabricSpec = z.strictObject({ generation: Generation, rules: z.array(FabricRule) });
export type FabricSpec = z.infer<typeof FabricSpec>;
