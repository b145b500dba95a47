import { LearntProfile, Name, type NfDescriptor } from '@orrery/contract';
import { z } from 'zod';
import type { CollectionDefinition } from '../../platform/durable-collection/definition.js';
import { KEYS } from '../../platform/redis-keys.js';

const MAX_LEARNT = 400;

/** Profiles that were learnt of an NF, at most one for each driver. */
export const StoredProfiles = z.strictObject({
  nf: Name,
  /** Of the descriptor with its declared profiles: those of another one are no longer used. */
  declared_revision: z.string().max(64),
  profiles: z.array(LearntProfile).min(1).max(3),
});
export type StoredProfiles = z.infer<typeof StoredProfiles>;

export const LEARNT_PROFILES: CollectionDefinition<StoredProfiles> = {
  key: KEYS.learntProfiles,
  noun: 'learnt profile of',
  schema: StoredProfiles,
  version: 1,
  idOf: ({ nf }) => nf,
  bound: { most: MAX_LEARNT, policy: 'refuse' },
};

/** The descriptor with learnt profiles in place of declared ones. */
export function withLearnt(descriptor: NfDescriptor, profiles: readonly LearntProfile[]): NfDescriptor {
  return {
    ...descriptor,
    implementations: descriptor.implementations.map((implementation) => {
      const learnt = profiles.find(({ driver }) => driver === implementation.driver);
      return learnt ? { ...implementation, cost: learnt.cost } : implementation;
    }),
  };
}
