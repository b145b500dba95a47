import { z } from 'zod';
import { Ipv4Prefix, Port } from './common.js';

/** Attributes defined on the contents of a packet (E2 3.2.1). */
export const DIRECT_ATTRIBUTES = ['ip.src', 'ip.dst', 'ip.proto', 'port.src', 'port.dst'] as const;
export const DirectAttribute = z.enum(DIRECT_ATTRIBUTES);
export type DirectAttribute = z.infer<typeof DirectAttribute>;

/**
 * One term of a filter. `attribute` is a direct attribute or `<node>.<attribute>` for one that an upstream NF derived.
 * Values: prefixes for `ip.*`; `tcp`, `udp`, `icmp` or a number for `ip.proto`; a port or `lo-hi` for `port.*`;
 * a declared value for a derived attribute.
 */
export const FilterTerm = z.strictObject({
  attribute: z.string().regex(/^[a-z][a-z0-9-]*\.[a-z][a-z0-9_-]*$/, 'must be <layer or node>.<attribute>'),
  op: z.enum(['is', 'is-not']).default('is'),
  value: z.union([z.string().min(1).max(64), z.number().min(0).max(65_535)]),
});
export type FilterTerm = z.infer<typeof FilterTerm>;

/** A conjunction: a packet follows an edge only if it matches every term (E2 3.2.1). Empty matches all. */
export const Filter = z.array(FilterTerm).max(16);
export type Filter = z.infer<typeof Filter>;

/** A resolved term, in the form that a classifier executes. `not` negates the whole term. */
export const MatchTerm = z.discriminatedUnion('field', [
  z.strictObject({ field: z.literal('ip.src'), prefix: Ipv4Prefix, not: z.boolean().default(false) }),
  z.strictObject({ field: z.literal('ip.dst'), prefix: Ipv4Prefix, not: z.boolean().default(false) }),
  z.strictObject({ field: z.literal('ip.proto'), value: z.int().min(0).max(255), not: z.boolean().default(false) }),
  z.strictObject({ field: z.literal('port.src'), lo: Port, hi: Port, not: z.boolean().default(false) }),
  z.strictObject({ field: z.literal('port.dst'), lo: Port, hi: Port, not: z.boolean().default(false) }),
  z.strictObject({
    field: z.literal('metadata'),
    offset: z.int().min(0).max(15),
    width: z.int().min(1).max(16),
    value: z.int().min(0).max(65535),
    not: z.boolean().default(false),
  }),
]);
export type MatchTerm = z.infer<typeof MatchTerm>;

/** Bits of the 16-bit metadata word that hold one derived attribute; 0 means "not set". */
export const MetadataField = z.strictObject({
  offset: z.int().min(0).max(15),
  width: z.int().min(1).max(16),
  values: z.record(z.string(), z.int().min(1).max(65535)),
});
export type MetadataField = z.infer<typeof MetadataField>;

/** Fields over which flows are hashed to an instance: the affinity of an NF as a 5-tuple with wildcards (E2 3.2.2). */
export const FlowKey = z.array(DirectAttribute).max(5);
export type FlowKey = z.infer<typeof FlowKey>;

/** Half-open range of flow identities `H(f)` in [0, 65536) (E2 3.4.4). */
export const FlowRange = z.strictObject({ lo: z.int().min(0).max(65535), hi: z.int().min(1).max(65536) });
export type FlowRange = z.infer<typeof FlowRange>;
export const FLOW_SPACE = 65536;
