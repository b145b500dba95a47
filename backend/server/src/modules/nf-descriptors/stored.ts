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
  version: 2,
  migrate: (value) => migrated(value),
  idOf: ({ descriptor }) => descriptor.id,
  bound: { most: MAX_DESCRIPTORS, policy: 'refuse' },
};

/** What version 1 took more freely; all else is judged by the schema. */
const Version1 = z.looseObject({
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
    }),
  }),
});

/** Version 1 took any icon and version number, blank texts, and a field of packets many times. */
function migrated(value: unknown): unknown {
  const read = Version1.safeParse(value);
  if (!read.success) return value;
  const { descriptor, ...about } = read.data;
  const { actions, icon, version } = descriptor;
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
        adds: once(actions.adds),
        removes: once(actions.removes),
      },
    },
  };
}

function bounded(digits: string): string {
  const significant = digits.replace(/^0+(?=\d)/, '');
  return significant.length > HIGHEST_IN_VERSION.length ? HIGHEST_IN_VERSION : significant;
}

const once = (fields: readonly string[]): string[] => [...new Set(fields)];
