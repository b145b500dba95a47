import { z } from 'zod';
import { Id, ipPrefixOf, Port } from './common.js';
import { DIRECT_ATTRIBUTES, DirectAttribute, FLOW_SPACE, FlowRange } from './filter.js';

const negated = { not: z.boolean().default(false) };

/** A term about the key of a flow, in the direction in which the flow began. `not` negates the whole term. */
export const FlowTerm = z.discriminatedUnion('field', [
  z.strictObject({ field: z.literal('ip.src'), prefix: ipPrefixOf('the source address'), ...negated }),
  z.strictObject({ field: z.literal('ip.dst'), prefix: ipPrefixOf('the destination address'), ...negated }),
  z.strictObject({ field: z.literal('ip.proto'), value: z.int().min(0).max(255), ...negated }),
  z.strictObject({ field: z.literal('port.src'), lo: Port, hi: Port, ...negated }),
  z.strictObject({ field: z.literal('port.dst'), lo: Port, hi: Port, ...negated }),
]);
export type FlowTerm = z.infer<typeof FlowTerm>;

/** Which flows of an NF: those that all terms hold for and whose H(f) is in the range. Empty: all. */
export const FlowSelector = z
  .strictObject({
    match: z.array(FlowTerm).max(16).default([]),
    hash: z
      .strictObject({
        key: z.array(DirectAttribute).min(1).max(DIRECT_ATTRIBUTES.length).describe('fields that are hashed'),
        ...FlowRange.shape,
      })
      .optional()
      .describe(`half-open range of H(f) in [0, ${FLOW_SPACE}), as splits have it`),
  })
  .check(({ value: { match, hash }, issues }) => {
    const refuse = (path: PropertyKey[], message: string) =>
      issues.push({ code: 'custom', input: undefined, path, message });
    for (const [i, term] of match.entries())
      if ('lo' in term && term.hi < term.lo) refuse(['match', i, 'hi'], 'must not be below lo');
    if (!hash) return;
    if (hash.hi <= hash.lo) refuse(['hash', 'hi'], 'must be above lo');
    for (const [i, field] of hash.key.entries())
      if (hash.key.indexOf(field) < i) refuse(['hash', 'key', i], 'appears twice');
  });
export type FlowSelector = z.infer<typeof FlowSelector>;

/** Where in a selector a field is named that the flows of an NF, which are known by `key`, do not have; null: nowhere. */
export function unknownField(
  { match, hash }: FlowSelector,
  key: readonly DirectAttribute[],
): { path: string; field: DirectAttribute } | null {
  const term = match.findIndex(({ field }) => !key.includes(field));
  if (term >= 0) return { path: `/match/${term}/field`, field: match[term]!.field };
  const hashed = hash?.key.findIndex((field) => !key.includes(field)) ?? -1;
  return hashed >= 0 ? { path: `/hash/key/${hashed}`, field: hash!.key[hashed]! } : null;
}

/** A portion of an export: where in a table it stands and when it was copied. Only its instance can read it. */
export const FlowPortion = z.string().max(100);

export const FlowExport = z.strictObject({
  state: z.record(z.string(), z.unknown()),
  rows: z.int().min(0),
  portion: FlowPortion,
  last: z.boolean().describe('there are no further portions'),
});
export type FlowExport = z.infer<typeof FlowExport>;

export const FlowRelease = z.strictObject({
  released: z.int().min(0),
  kept: z.int().min(0).describe('selected, but used since the copy'),
});
export type FlowRelease = z.infer<typeof FlowRelease>;

export const FlowImport = z.strictObject({
  tables: z.string().describe('which tables the instance has: others after a restart or a change of their size'),
  left_out: z.int().min(0).describe('flows without room, or whose address and port another flow has'),
});
export type FlowImport = z.infer<typeof FlowImport>;

/** What became of flows of which packets waited at a split. */
export const FlowHoldEnd = z.strictObject({
  flows: z.int().min(0).describe('that go to another instance from now on'),
  packets: z.int().min(0).describe('that waited'),
  table_full: z.boolean().describe('there may be flows that the split does not track: they follow its ranges'),
});
export type FlowHoldEnd = z.infer<typeof FlowHoldEnd>;

/** migrate_instance (HYPER III-A): the flows of an instance go to another instance of the same NF. */
export const MigrateRequest = z.strictObject({
  to: Id.describe('an instance of the same NF, on any server'),
  flows: FlowSelector.default({ match: [] }),
  steer: z
    .boolean()
    .default(true)
    .describe(
      'the split that leads to both instances sends the flows to the other one, and their packets wait while the last of their state is copied. False: who asks steers them, and a packet may meet older state',
    ),
  release: z
    .boolean()
    .default(true)
    .describe(
      'remove the flows where they come from, once they are steered and none of them has had a packet there since its copy; without `steer` for a second. False: they stay until they are idle for too long',
    ),
});
export type MigrateRequest = z.infer<typeof MigrateRequest>;

/** What a move would copy if it began now. */
export const MigrationPreview = z.strictObject({
  flows: z.int().min(0),
  bytes: z.int().min(0).describe('of flow state, as it would go over the connection'),
  complete: z.boolean().describe('false: there are more, and only the first were counted'),
});
export type MigrationPreview = z.infer<typeof MigrationPreview>;

/** What an operation that moves flows was asked for, and how far it is. */
export const FlowMigration = z.strictObject({
  from: Id,
  ...MigrateRequest.shape,
  copied: z.int().min(0).describe('flows in the other instance, those that were copied again once'),
  renewed: z.int().min(0).describe('copies of flows that packets had used since their copy before'),
  steered: z.int().min(0).default(0).describe('flows that the split sends to the other instance since'),
  waited: z.int().min(0).default(0).describe('packets that waited at the split meanwhile'),
  released: z.int().min(0),
  left_out: z.int().min(0).describe('flows that the other instance had no room for; they stay where they are'),
  bytes: z.int().min(0).describe('of flow state sent, as it goes over the connection'),
  at_least: z
    .boolean()
    .optional()
    .describe(
      'true: the reply to a copy, to steering or to a removal was lost, or the server ended in the middle, so that more flows may have been copied, steered or released than is counted; absent: all are counted',
    ),
});
export type FlowMigration = z.infer<typeof FlowMigration>;
