import { z } from 'zod';
import { Name } from '../common.js';
import { P4Array, P4Hash, P4Name } from './p4-program.js';

/** A value as people write it: a number, an address, or a port of the switch by its name. */
const Value = z.string().min(1).max(200);
const called = { action: P4Name, params: z.record(P4Name, Value).default({}) };
const GroupId = z.int().min(1).max(0xffff);

/** An entry of a table, by the names of P4Info. A field that is left out matches every value. */
export const P4Entry = z.strictObject({
  table: P4Name,
  match: z
    .record(P4Name, Value)
    .describe(
      'by key: `value`, `value/prefix length`, `value&&&mask`, `low..high` or `*`, as its kind of match allows',
    ),
  priority: z
    .int()
    .min(1)
    .max(16_777_215)
    .optional()
    .describe('the highest wins; only, and always, where a key has ternary, range or optional matches'),
  ...called,
});
export type P4Entry = z.infer<typeof P4Entry>;

export const P4DefaultAction = z.strictObject({ table: P4Name, ...called });
export type P4DefaultAction = z.infer<typeof P4DefaultAction>;

export const P4Group = z.strictObject({
  id: GroupId.describe('the number that the program sets as `mcast_grp`'),
  ports: z.array(Name).min(1).max(512),
});
export type P4Group = z.infer<typeof P4Group>;

export const MOST_P4_ENTRIES = 4096;
/** Largest body of a set of entries: 2 KiB for each of them. */
export const P4_ENTRIES_LIMIT_BYTES = MOST_P4_ENTRIES * 2048;

/** What Orrery keeps in the tables of a program of one's own. What other controllers add is left alone. */
export const P4Entries = z.strictObject({
  entries: z.array(P4Entry).max(MOST_P4_ENTRIES).default([]),
  default_actions: z.array(P4DefaultAction).max(256).default([]).describe('instead of those of the program'),
  groups: z.array(P4Group).max(256).default([]).describe('multicast groups: a packet leaves by each of the ports'),
});
export type P4Entries = z.infer<typeof P4Entries>;

/** A program of one's own at a switch, and what its tables hold. */
export const P4Assignment = z.strictObject({
  name: Name,
  hash: P4Hash.nullable().describe('null: there is no program of the name'),
  ...P4Entries.shape,
});
export type P4Assignment = z.infer<typeof P4Assignment>;

const Count = z.int().min(0);
const counts = { packets: Count.nullable().describe('null: not counted'), bytes: Count.nullable() };

/** Other controllers are held to the bounds of P4Runtime alone: a match of two values of the widest field fits. */
const ReadValue = z.string().max(4096);
const readCall = { ...called, params: z.record(P4Name, ReadValue) };

/** What the tables of a switch hold now. */
export const P4Reading = z.strictObject({
  hash: P4Hash.nullable().describe('of the program that the switch runs; null: none, or one that is not its own'),
  entries: z
    .array(
      z.strictObject({
        ...P4Entry.shape,
        match: z.record(P4Name, ReadValue),
        priority: z.int().min(1).max(0x7fff_ffff).optional(),
        ...readCall,
        ...counts,
        own: z.boolean().describe('of Orrery; false: another controller added it'),
      }),
    )
    .max(2 * MOST_P4_ENTRIES),
  left_out: Count.describe('entries beyond the bound'),
  default_actions: z.array(z.strictObject({ ...P4DefaultAction.shape, ...readCall, ...counts })).max(1024),
  groups: z
    .array(z.strictObject({ id: z.int().min(0), ports: z.array(z.string().max(60)).max(1024), own: z.boolean() }))
    .max(1024),
});
export type P4Reading = z.infer<typeof P4Reading>;

export const MOST_P4_CELLS = 256;
export const P4CellsRequest = z.strictObject({
  kind: P4Array.shape.kind,
  name: P4Name,
  from: z.coerce.number().int().min(0).default(0),
  count: z.coerce.number().int().min(1).max(MOST_P4_CELLS).default(64),
});
export type P4CellsRequest = z.infer<typeof P4CellsRequest>;

export const P4Cells = z.strictObject({
  cells: z
    .array(
      z.strictObject({
        index: Count,
        packets: Count.optional(),
        bytes: Count.optional(),
        value: z.string().max(2000).optional().describe('of a register, in hexadecimal'),
      }),
    )
    .max(MOST_P4_CELLS),
});
export type P4Cells = z.infer<typeof P4Cells>;
