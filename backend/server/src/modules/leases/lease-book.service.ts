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
  claim: z.enum(['change', 'reserve', 'lend']),
  holder: z.string(),
  purpose: z.string(),
  by: z.string(),
  since_ms: TimestampMs,
  until_ms: TimestampMs.nullable(),
});

const MAX_LEASES = 4096;

const idOf = ({ claim, resource }: Pick<Lease, 'claim' | 'resource'>) => `${claim}:${resource}`;

@Injectable()
export class LeaseBookService implements LeaseBook, OnModuleInit {
  private readonly leases: DurableCollection<Lease>;

  constructor(@Inject(COLLECTIONS) collections: Collections) {
    this.leases = collections.open<Lease>({
      key: KEYS.leases,
      noun: 'lease',
      schema: StoredLease,
      version: 2,
      migrate: withoutFence,
      idOf,
      bound: { most: MAX_LEASES, policy: 'refuse' },
    });
  }

  onModuleInit(): Promise<void> {
    return this.leases.load();
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

  acquireIn(batch: Batch, { claim, holder, purpose, by, resources, until_ms = null }: LeaseRequest): void {
    this.requireFree({ claim, holder, resources });
    const nowMs = Date.now();
    for (const lease of this.leases.all()) if (hasExpired(lease, nowMs)) batch.remove(this.leases, idOf(lease));
    for (const resource of new Set(resources))
      batch.put(this.leases, { resource, claim, holder, purpose, by, since_ms: nowMs, until_ms });
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
  if (kind === 'accelerator') return `${slot} of ${name}`;
  return slot === undefined ? `${kind} ${name}` : `slot ${slot} of ${name}`;
}

function hasExpired({ until_ms }: Lease, nowMs: number): boolean {
  return until_ms !== null && until_ms <= nowMs;
}

function overlap(a: string, b: string): boolean {
  return a === b || a.startsWith(`${b}/`) || b.startsWith(`${a}/`);
}

/** Leases of version 1 had a number that nobody checked. */
function withoutFence(stored: unknown): unknown {
  const { fence: _fence, ...lease } = stored as Record<string, unknown>;
  return lease;
}
