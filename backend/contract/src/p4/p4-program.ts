import { z } from 'zod';
import { Name, TimestampMs } from '../common.js';

/** Largest compiled program, in bytes of its JSON; that of its P4Info. */
export const P4_JSON_MOST_BYTES = 4 * 1024 * 1024;
export const P4INFO_MOST_BYTES = 1024 * 1024;
/** Largest body of an upload: in JSON, a text of JSON is longer by the signs that it escapes. */
export const P4_UPLOAD_LIMIT_BYTES = 2 * (P4_JSON_MOST_BYTES + P4INFO_MOST_BYTES);

/** Names of P4Info: of controls and what is in them, with dots. */
export const P4Name = z.string().min(1).max(200);
const Bits = z.int().min(1).max(4096);
const Count = z.int().min(0);
const Id32 = z.int().min(1).max(0xffff_ffff);

export const P4_MATCH_KINDS = ['exact', 'lpm', 'ternary', 'range', 'optional'] as const;
export const P4MatchKind = z.enum(P4_MATCH_KINDS);
export type P4MatchKind = z.infer<typeof P4MatchKind>;

export const P4Field = z.strictObject({ id: Id32, name: P4Name, bits: Bits, match: P4MatchKind });
export type P4Field = z.infer<typeof P4Field>;

export const P4Param = z.strictObject({ id: Id32, name: P4Name, bits: Bits });
export type P4Param = z.infer<typeof P4Param>;

export const P4Action = z.strictObject({ id: Id32, name: P4Name, params: z.array(P4Param).max(256) });
export type P4Action = z.infer<typeof P4Action>;

export const P4Table = z.strictObject({
  id: Id32,
  name: P4Name,
  size: Count.describe('entries that it has room for; 0: not said'),
  fields: z.array(P4Field).max(256),
  actions: z
    .array(z.strictObject({ name: P4Name, of: z.enum(['both', 'entries', 'default']) }))
    .max(256)
    .describe('`of`: what may have the action'),
  constant: z.boolean().describe('its entries are of the program'),
  constant_default: z.boolean().describe('its default action is of the program'),
  counted: z.boolean().describe('it has a direct counter'),
  profile: z.boolean().describe('its actions are those of an action profile'),
});
export type P4Table = z.infer<typeof P4Table>;

/** Counters that are not those of a table, and registers. */
export const P4Array = z.strictObject({
  kind: z.enum(['counter', 'register']),
  id: Id32,
  name: P4Name,
  size: Count.describe('cells'),
});
export type P4Array = z.infer<typeof P4Array>;

/** What P4Info says of a program. */
export const P4Content = z.strictObject({
  tables: z.array(P4Table).max(1024),
  actions: z.array(P4Action).max(4096),
  arrays: z.array(P4Array).max(1024),
});
export type P4Content = z.infer<typeof P4Content>;

/** An action that copies a packet to a multicast group. */
export const P4Flood = z.strictObject({
  action: P4Name,
  param: P4Name.optional().describe('whose value is the group'),
  group: z.int().min(1).max(0xffff).optional().describe('where the program names it itself'),
});
export type P4Flood = z.infer<typeof P4Flood>;

/** SHA-256 of JSON and P4Info, one after the other. */
export const P4Hash = z.string().regex(/^[0-9a-f]{64}$/, 'must be a SHA-256 in hexadecimal');

/** A program as p4c compiles it for BMv2. */
export const P4ProgramUpload = z.strictObject({
  name: Name,
  title: z.string().trim().min(1, 'must not be blank').max(80),
  bmv2_json: z.string().min(1).max(P4_JSON_MOST_BYTES).describe('text of the JSON of p4c for BMv2 (-o)'),
  p4info: z
    .string()
    .min(1)
    .max(P4INFO_MOST_BYTES)
    .describe('text of P4Info (--p4runtime-files), in the text format of protocol buffers or as JSON'),
});
export type P4ProgramUpload = z.infer<typeof P4ProgramUpload>;

export const P4Program = z.strictObject({
  name: Name,
  title: z.string().max(80),
  summary: z.string().max(500).describe('what an example shows; of an upload empty'),
  hash: P4Hash,
  bytes: Count.describe('of its JSON'),
  content: P4Content,
  floods: z.array(P4Flood).max(4096),
  example: z.boolean().describe('came with Orrery'),
  by: z.string().nullable().describe('who uploaded it; null: it came with Orrery'),
  created_ms: TimestampMs.nullable(),
  switches: z.array(Name).max(64).describe('that run it by the infrastructure'),
});
export type P4Program = z.infer<typeof P4Program>;

/** What a switch loads. */
export const P4ProgramFiles = z.strictObject({
  hash: P4Hash,
  bmv2_json: P4ProgramUpload.shape.bmv2_json,
  p4info: P4ProgramUpload.shape.p4info,
});
export type P4ProgramFiles = z.infer<typeof P4ProgramFiles>;

/** Of a table, an action or an array by its name: the whole one, or its last part where only one has that. */
export function namedP4<T extends { readonly name: string }>(all: readonly T[], name: string): T | undefined {
  const whole = all.find((one) => one.name === name);
  if (whole) return whole;
  const [found, another] = all.filter((one) => one.name.endsWith(`.${name}`));
  return another ? undefined : found;
}
