import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { ChainNotKept, type EventDraft, HealingPolicyRequest, Id, OutOfService } from '@orrery/contract';
import { z } from 'zod';
import { type Batch, COLLECTIONS, type Collections } from '../../platform/durable-collection/collections.js';
import type { DurableCollection } from '../../platform/durable-collection/durable-collection.js';
import { Mutex } from '../../platform/mutex.js';
import { KEYS } from '../../platform/redis-keys.js';
import { EVENT_LOG, type EventLog } from '../../ports/event-log.js';
import type { Exclusions } from '../../ports/exclusions.js';

const StoredPolicy = HealingPolicyRequest.safeExtend({ id: Id }).readonly();
type StoredPolicy = z.infer<typeof StoredPolicy>;

const POLICY = 'healing';
const DEFAULT: StoredPolicy = { ...HealingPolicyRequest.parse({}), id: POLICY };

/** The plan in force up to which everything that plans did not keep has been told. */
const Accounted = z.strictObject({ id: Id, plan_id: Id.nullable() });
type Accounted = z.infer<typeof Accounted>;
const ACCOUNTED = 'accounted';

/** As many servers and boards as an infrastructure has. */
const MOST_PARTS = 320;
const MOST_CHAINS = 1000;

/** Writes of one transaction. */
export interface RecordsDraft {
  /** From what is stored now, so that nothing that was changed or removed meanwhile comes back; undefined: it is in service. */
  change(id: string, to: (now: OutOfService | undefined) => OutOfService | undefined): void;
  /** As `change`; undefined: the chain is kept, or given up. */
  changeChain(id: string, to: (now: ChainNotKept | undefined) => ChainNotKept | undefined): void;
  accounted(planId: string | null): void;
  tell(event: EventDraft): void;
}

/** What is out of service, which chains are not kept, and the policy: all of it survives a kill. */
@Injectable()
export class HealingRecords implements Exclusions, OnModuleInit {
  private readonly parts: DurableCollection<OutOfService>;
  private readonly chains: DurableCollection<ChainNotKept>;
  private readonly policies: DurableCollection<StoredPolicy>;
  private readonly accounts: DurableCollection<Accounted>;
  private readonly mutex = new Mutex();

  constructor(
    @Inject(COLLECTIONS) private readonly collections: Collections,
    @Inject(EVENT_LOG) private readonly events: EventLog,
  ) {
    this.parts = collections.open({
      key: KEYS.outOfService,
      noun: 'part out of service',
      schema: OutOfService,
      version: 1,
      idOf: ({ id }) => id,
      bound: { most: MOST_PARTS, policy: 'refuse' },
    });
    this.chains = collections.open({
      key: KEYS.chainsNotKept,
      noun: 'chain that is not kept',
      schema: ChainNotKept,
      version: 1,
      idOf: ({ chain_id }) => chain_id,
      numbered: 'oldest-first',
      order: (a, b) => a.since_ms - b.since_ms,
      bound: { most: MOST_CHAINS, policy: 'refuse' },
    });
    this.policies = collections.open({
      key: KEYS.healingPolicy,
      noun: 'healing policy',
      schema: StoredPolicy,
      version: 1,
      idOf: ({ id }) => id,
      bound: { most: 1, policy: 'refuse' },
    });
    this.accounts = collections.open({
      key: KEYS.healingAccounted,
      noun: 'account of plans',
      schema: Accounted,
      version: 1,
      idOf: ({ id }) => id,
      bound: { most: 1, policy: 'refuse' },
    });
  }

  async onModuleInit(): Promise<void> {
    for (const collection of [this.parts, this.chains, this.policies, this.accounts]) await collection.load();
  }

  get policy(): StoredPolicy {
    return this.policies.find(POLICY) ?? DEFAULT;
  }

  get policyRevision(): number {
    return this.policies.find(POLICY) ? this.policies.revisionOf(POLICY) : 0;
  }

  /** Undefined: nothing has been accounted for yet. */
  get accountedPlan(): string | null | undefined {
    return this.accounts.find(ACCOUNTED)?.plan_id;
  }

  out(): readonly OutOfService[] {
    return this.parts.all();
  }

  find(id: string): OutOfService | undefined {
    return this.parts.find(id);
  }

  notKept(): readonly ChainNotKept[] {
    return this.chains.all();
  }

  get servers(): readonly string[] {
    return this.excluded('server', ({ maintenance }) => maintenance !== null);
  }

  get boards(): readonly string[] {
    return this.excluded('board', ({ maintenance }) => maintenance !== null);
  }

  get lost_servers(): readonly string[] {
    return this.excluded('server', ({ lost }) => lost !== null);
  }

  onChange(listener: () => void): void {
    for (const collection of [this.parts, this.chains, this.policies]) collection.onChange(listener);
  }

  replacePolicy(request: HealingPolicyRequest, ifMatch: string | null, by: string): Promise<void> {
    return this.collections.commit((batch) => {
      batch.put(this.policies, { ...request, id: POLICY }, this.policies.find(POLICY) ? ifMatch : null);
      const message = `Healing policy changed: it is ${request.enabled ? 'on' : 'off'}`;
      this.draftOf(batch).tell({ type: 'healing.policy', subject: POLICY, message, actor: by, data: request });
    });
  }

  commit(work: (draft: RecordsDraft) => void): Promise<void> {
    return this.collections.commit((batch) => work(this.draftOf(batch)));
  }

  /** What is decided from the records and asked for by several writes: by hand or by the loop, one at a time. */
  alone<T>(work: () => Promise<T>): Promise<T> {
    return this.mutex.run(work);
  }

  private draftOf(batch: Batch): RecordsDraft {
    return {
      change: (id, to) => changeIn(batch, this.parts, id, to),
      changeChain: (id, to) => changeIn(batch, this.chains, id, to),
      accounted: (plan_id) => batch.put(this.accounts, { id: ACCOUNTED, plan_id }),
      tell: (event) => batch.also((transaction) => this.events.appendIn(transaction, event)),
    };
  }

  private excluded(kind: OutOfService['kind'], isOut: (part: OutOfService) => boolean): string[] {
    return this.parts.all().flatMap((part) => (part.kind === kind && isOut(part) ? [part.id] : []));
  }
}

/** Precondition: a batch changes an entry once. */
function changeIn<T extends object>(
  batch: Batch,
  collection: DurableCollection<T>,
  id: string,
  to: (now: T | undefined) => T | undefined,
): void {
  const now = collection.find(id);
  const next = to(now);
  if (next === now) return;
  if (next) batch.put(collection, next);
  else batch.remove(collection, id);
}
