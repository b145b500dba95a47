import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { TimestampMs } from '@orrery/contract';
import { z } from 'zod';
import { type Batch, COLLECTIONS, type Collections } from '../../platform/durable-collection/collections.js';
import type { DurableCollection } from '../../platform/durable-collection/durable-collection.js';
import { conflict } from '../../platform/problem.js';
import { KEYS } from '../../platform/redis-keys.js';
import type { Claim, Lease, LeaseBook, LeaseRequest, Resource } from '../../ports/lease-book.js';

const StoredLease = z.strictObject({
  resource: z.string(),
  claim: z.enum(['change', 'reserve']),
  holder: z.string(),
  purpose: z.string(),
  by: z.string(),
  fence: z.int().min(1),
  since_ms: TimestampMs,
  until_ms: TimestampMs.nullable(),
});
/** The latest fence; survives restarts and releases. */
const Fence = z.strictObject({ id: z.string(), fence: z.int().min(0) });
const NEWEST = 'newest';

const MAX_LEASES = 4096;

const idOf = ({ claim, resource }: Pick<Lease, 'claim' | 'resource'>) => `${claim}:${resource}`;

@Injectable()
export class LeaseBookService implements LeaseBook, OnModuleInit {
  private readonly leases: DurableCollection<Lease>;
  private readonly fences: DurableCollection<z.infer<typeof Fence>>;

  constructor(@Inject(COLLECTIONS) collections: Collections) {
    this.leases = collections.open<Lease>({
      key: KEYS.leases,
      noun: 'lease',
      schema: StoredLease,
      version: 1,
      idOf,
      bound: { most: MAX_LEASES, policy: 'refuse' },
    });
    this.fences = collections.open({
      key: KEYS.leaseFence,
      noun: 'fence',
      schema: Fence,
      version: 1,
      idOf: ({ id }) => id,
      bound: { most: 1, policy: 'refuse' },
    });
  }

  async onModuleInit(): Promise<void> {
    await Promise.all([this.leases.load(), this.fences.load()]);
  }

  all(): readonly Lease[] {
    const nowMs = Date.now();
    return this.leases.all().filter((lease) => !hasExpired(lease, nowMs));
  }

  find(claim: Claim, resource: Resource): Lease | null {
    const lease = this.leases.find(idOf({ claim, resource }));
    return lease && !hasExpired(lease, Date.now()) ? lease : null;
  }

  conflictOf({ claim, holder, resources }: Pick<LeaseRequest, 'claim' | 'holder' | 'resources'>): Lease | null {
    const others = this.all().filter((lease) => lease.claim === claim && lease.holder !== holder);
    return others.find((lease) => resources.some((resource) => overlap(lease.resource, resource))) ?? null;
  }

  requireFree(request: Pick<LeaseRequest, 'claim' | 'holder' | 'resources'>): void {
    const taken = this.conflictOf(request);
    if (taken) throw conflict(`The ${taken.purpose} ${taken.holder} holds ${inWords(taken)}; wait for its end.`);
  }

  acquireIn(batch: Batch, { claim, holder, purpose, by, resources, until_ms = null }: LeaseRequest): number {
    this.requireFree({ claim, holder, resources });
    const nowMs = Date.now();
    for (const lease of this.leases.all()) if (hasExpired(lease, nowMs)) batch.remove(this.leases, idOf(lease));
    const fence = (this.fences.find(NEWEST)?.fence ?? 0) + 1;
    batch.put(this.fences, { id: NEWEST, fence });
    for (const resource of new Set(resources))
      batch.put(this.leases, { resource, claim, holder, purpose, by, fence, since_ms: nowMs, until_ms });
    return fence;
  }

  releaseIn(batch: Batch, claim: Claim, holder: string, resources?: readonly Resource[]): void {
    const own = this.leases.all().filter((lease) => lease.claim === claim && lease.holder === holder);
    for (const lease of own)
      if (!resources || resources.some((resource) => resource === lease.resource))
        batch.remove(this.leases, idOf(lease));
  }

  onChange(listener: () => void): void {
    this.leases.onChange(listener);
  }
}

function inWords({ resource }: Lease): string {
  const [kind, name, slot] = resource.split('/');
  return slot === undefined ? `${kind} ${name}` : `slot ${slot} of ${name}`;
}

function hasExpired({ until_ms }: Lease, nowMs: number): boolean {
  return until_ms !== null && until_ms <= nowMs;
}

function overlap(a: string, b: string): boolean {
  return a === b || a.startsWith(`${b}/`) || b.startsWith(`${a}/`);
}
