import { NfDescriptor, TimestampMs } from '@orrery/contract';
import { z } from 'zod';
import type { CollectionDefinition } from '../../platform/durable-collection/definition.js';
import { KEYS } from '../../platform/redis-keys.js';

const MAX_DESCRIPTORS = 200;
/** For an entry whose icon no console can show. */
const ANY_ICON = 'box';
const HIGHEST_IN_VERSION = '9'.repeat(9);

/** A legacy NF that a user described, as stored in Redis. */
export const StoredDescriptor = z.strictObject({
  descriptor: NfDescriptor,
  by: z.string(),
  updated_ms: TimestampMs,
});
export type StoredDescriptor = z.infer<typeof StoredDescriptor>;

export const STORED_DESCRIPTORS: CollectionDefinition<StoredDescriptor> = {
  key: KEYS.nfDescriptors,
  noun: 'NF descriptor',
  schema: StoredDescriptor,
  version: 3,
  migrate: (value) => migrated(value),
  idOf: ({ descriptor }) => descriptor.id,
  bound: { most: MAX_DESCRIPTORS, policy: 'refuse' },
};

/** What earlier versions took more freely; all else is judged by the schema. */
const Earlier = z.looseObject({
  descriptor: z.looseObject({
    id: z.string(),
    title: z.string(),
    summary: z.string(),
    icon: z.string(),
    version: z.string(),
    actions: z.looseObject({
      reads: z.array(z.string()),
      writes: z.array(z.string()),
      adds: z.array(z.string()).default([]),
      removes: z.array(z.string()).default([]),
      may_drop: z.boolean(),
      answers: z.boolean().optional(),
    }),
  }),
});

/**
 * Version 1 took any icon and version number, blank texts, and a field of packets many times; version 2 an NF that answers packets
 * and drops none, and one that changes lengths by no bytes: of each is now said what makes plans most careful.
 */
function migrated(value: unknown): unknown {
  const read = Earlier.safeParse(value);
  if (!read.success) return value;
  const { descriptor, ...about } = read.data;
  const { actions, icon, version } = descriptor;
  const resizesUnsaid = actions.writes.includes('length') && actions.adds.length + actions.removes.length === 0;
  return {
    ...about,
    descriptor: {
      ...descriptor,
      title: descriptor.title.trim() || descriptor.id,
      summary: descriptor.summary.trim(),
      icon: NfDescriptor.shape.icon.safeParse(icon).success ? icon : ANY_ICON,
      version: version.replace(/\d{10,}/g, bounded),
      actions: {
        ...actions,
        reads: once(actions.reads),
        writes: once(actions.writes),
        adds: resizesUnsaid ? ['length'] : once(actions.adds),
        removes: resizesUnsaid ? ['length'] : once(actions.removes),
        may_drop: actions.may_drop || actions.answers === true,
      },
    },
  };
}

function bounded(digits: string): string {
  const significant = digits.replace(/^0+(?=\d)/, '');
  return significant.length > HIGHEST_IN_VERSION.length ? HIGHEST_IN_VERSION : significant;
}

const once = (fields: readonly string[]): string[] => [...new Set(fields)];
