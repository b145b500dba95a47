import { z } from 'zod';
import type { CollectionDefinition } from './definition.js';

/** An entry with its revision: the number of times it was written, used as ETag. */
export interface Entry<T> {
  readonly value: T;
  readonly revision: number;
  /** In a collection that is numbered, the number of the transaction that added it; absent: an earlier server did. */
  readonly added?: number;
  /** The number of the transaction since which its bound no longer keeps it; absent: it is kept, or never was. */
  readonly freed?: number;
}

const Envelope = z.strictObject({
  version: z.int().min(1),
  revision: z.int().min(1),
  added: z.int().min(1).optional(),
  freed: z.int().min(1).optional(),
  value: z.unknown(),
});

export function encodeEntry<T extends object>({ version }: CollectionDefinition<T>, entry: Entry<T>): string {
  const { revision, added, freed, value } = entry;
  return JSON.stringify({ version, revision, added, freed, value });
}

/** Throws if the text has a later version or does not match the schema. */
export function decodeEntry<T extends object>(definition: CollectionDefinition<T>, id: string, text: string): Entry<T> {
  const stored: unknown = JSON.parse(text);
  const envelope = Envelope.safeParse(stored);
  const { version, revision, added, freed, value } = envelope.success
    ? envelope.data
    : { version: 0, revision: 1, added: undefined, freed: undefined, value: stored };
  if (version > definition.version)
    throw new Error(`stored under version ${version}, this server reads up to ${definition.version}`);
  const current = version < definition.version ? (definition.migrate?.(value, version, id) ?? value) : value;
  return { value: definition.schema.parse(current), revision, added, freed };
}
