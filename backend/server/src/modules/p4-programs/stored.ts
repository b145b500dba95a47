import { Name, P4Entries, P4Hash, P4ProgramUpload, TimestampMs } from '@orrery/contract';
import { z } from 'zod';
import type { CollectionDefinition } from '../../platform/durable-collection/definition.js';
import { KEYS } from '../../platform/redis-keys.js';

export const MOST_PROGRAMS = 64;
const MOST_SWITCHES = 256;

/** A P4 program that a user uploaded, as stored in Redis. */
export const StoredProgram = z.strictObject({
  ...P4ProgramUpload.shape,
  hash: P4Hash,
  by: z.string(),
  created_ms: TimestampMs,
});
export type StoredProgram = z.infer<typeof StoredProgram>;

export const STORED_PROGRAMS: CollectionDefinition<StoredProgram> = {
  key: KEYS.p4Programs,
  noun: 'P4 program',
  schema: StoredProgram,
  version: 1,
  idOf: ({ name }) => name,
  bound: { most: MOST_PROGRAMS, policy: 'refuse' },
};

/** What the tables of a switch are to hold while it runs this program. */
export const StoredEntries = z.strictObject({ switch: Name, program: Name, hash: P4Hash, content: P4Entries });
export type StoredEntries = z.infer<typeof StoredEntries>;

export const STORED_ENTRIES: CollectionDefinition<StoredEntries> = {
  key: KEYS.p4Entries,
  noun: 'set of P4 entries',
  schema: StoredEntries,
  version: 1,
  idOf: (stored) => stored.switch,
  bound: { most: MOST_SWITCHES, policy: 'refuse' },
};
