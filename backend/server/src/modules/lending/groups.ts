import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import {
  acceleratorName,
  type EventDraft,
  type FieldError,
  Id,
  LendingGroupRequest,
  type NfRef,
  type SlotRef,
} from '@orrery/contract';
import { z } from 'zod';
import { type Batch, COLLECTIONS, type Collections } from '../../platform/durable-collection/collections.js';
import type { DurableCollection } from '../../platform/durable-collection/durable-collection.js';
import { newId } from '../../platform/ids.js';
import { type Precondition, requireRead } from '../../platform/precondition.js';
import { invalid } from '../../platform/problem.js';
import { KEYS } from '../../platform/redis-keys.js';
import { EVENT_LOG, type EventLog } from '../../ports/event-log.js';
import { LEASES, type LeaseBook, slotResource } from '../../ports/lease-book.js';

const StoredGroup = LendingGroupRequest.safeExtend({ id: Id }).readonly();
export type StoredGroup = z.infer<typeof StoredGroup>;

export const MAX_GROUPS = 16;

/** Settings of lending groups. */
@Injectable()
export class LendingGroups implements OnModuleInit {
  private readonly groups: DurableCollection<StoredGroup>;

  constructor(
    @Inject(COLLECTIONS) private readonly collections: Collections,
    @Inject(EVENT_LOG) private readonly events: EventLog,
    @Inject(LEASES) private readonly leases: LeaseBook,
  ) {
    this.groups = collections.open<StoredGroup>({
      key: KEYS.lendingGroups,
      noun: 'lending group',
      schema: StoredGroup as unknown as z.ZodType<StoredGroup>,
      version: 1,
      idOf: ({ id }) => id,
      bound: { most: MAX_GROUPS, policy: 'refuse' },
    });
  }

  onModuleInit(): Promise<void> {
    return this.groups.load();
  }

  all(): readonly StoredGroup[] {
    return this.groups.all();
  }

  find(id: string): StoredGroup | undefined {
    return this.groups.find(id);
  }

  /** Throws 404. */
  get(id: string): StoredGroup {
    return this.groups.get(id);
  }

  revisionOf(id: string): number {
    return this.groups.revisionOf(id);
  }

  /** Throws 422 if another group has one of its VNFs or accelerators. */
  add(request: LendingGroupRequest, by: string): Promise<StoredGroup> {
    return this.collections.commit((batch) => this.write(batch, { ...request, id: newId('lg') }, by, 'added'));
  }

  replace(id: string, request: LendingGroupRequest, given: Precondition, by: string): Promise<StoredGroup> {
    return this.collections.commit((batch) => {
      const ifMatch = requireRead(given, `lending group "${id}"`, this.groups.revisionOf(id));
      return this.write(batch, { ...request, id }, by, 'changed', ifMatch);
    });
  }

  remove(id: string, ifMatch: string | null, by: string): Promise<void> {
    return this.collections.commit((batch) => {
      const group = this.groups.get(id);
      batch.remove(this.groups, id, ifMatch);
      this.leases.releaseIn(batch, 'reserve', id);
      batch.also((transaction) => this.events.appendIn(transaction, told(group, by, 'removed')));
    });
  }

  onChange(listener: (id: string) => void): void {
    this.groups.onChange(({ put, removed }) => {
      for (const { id } of put) listener(id);
      for (const { id } of removed) listener(id);
    });
  }

  private write(
    batch: Batch,
    group: StoredGroup,
    by: string,
    what: 'added' | 'changed',
    ifMatch: string | null = null,
  ): StoredGroup {
    const errors = this.all().flatMap((other) => (other.id === group.id ? [] : sharedWith(group, other)));
    if (errors.length === 0) errors.push(...this.reservedBesides(group));
    if (errors.length > 0) throw invalid(errors);
    batch.put(this.groups, group, ifMatch);
    this.reserveSlots(batch, group, by);
    batch.also((transaction) => this.events.appendIn(transaction, told(group, by, what)));
    return group;
  }

  /** Slots that somebody else has reserved. */
  private reservedBesides(group: StoredGroup): FieldError[] {
    return group.accelerators.flatMap((it, n): FieldError[] => {
      if (!group.enabled || it.kind !== 'slot') return [];
      const lease = this.leases.find('reserve', slotResource(it));
      if (!lease || lease.holder === group.id) return [];
      return [{ pointer: `/accelerators/${n}`, detail: `is reserved by ${lease.by}`, code: 'reserved' }];
    });
  }

  /** Plans that do not name a slot leave it to the group; what is lent is told by leases of its own. */
  private reserveSlots(batch: Batch, group: StoredGroup, by: string): void {
    const resources = slotsOf(group).map(slotResource);
    this.leases.releaseIn(batch, 'reserve', group.id);
    if (resources.length === 0) return;
    const purpose = `lending group "${group.title}"`;
    this.leases.acquireIn(batch, { claim: 'reserve', holder: group.id, purpose, by, resources });
  }
}

/** Slots that it lends while it is enabled. */
function slotsOf({ accelerators, enabled }: StoredGroup): SlotRef[] {
  return accelerators.flatMap((it) => (enabled && it.kind === 'slot' ? { board: it.board, slot: it.slot } : []));
}

/** Whether it is one of the group's. */
export function belongs({ chains, nfs }: StoredGroup, { chain_id, node_id }: NfRef): boolean {
  return chains.includes(chain_id) || nfs.some((nf) => nf.chain_id === chain_id && nf.node_id === node_id);
}

/** What two groups may not both have. */
function sharedWith(group: StoredGroup, other: StoredGroup): FieldError[] {
  const errors: FieldError[] = [];
  const refuse = (pointer: string, what: string) =>
    errors.push({ pointer, detail: `${what} belongs to the lending group "${other.title}"`, code: 'taken' });
  const names = other.accelerators.map(acceleratorName);
  const nfs = other.nfs.map(({ chain_id, node_id }) => `${chain_id} ${node_id}`);
  group.accelerators.forEach((each, n) => {
    if (names.includes(acceleratorName(each))) refuse(`/accelerators/${n}`, acceleratorName(each));
  });
  group.chains.forEach((id, n) => {
    if (other.chains.includes(id) || other.nfs.some(({ chain_id }) => chain_id === id))
      refuse(`/chains/${n}`, `${id}, or an NF of it,`);
  });
  group.nfs.forEach(({ chain_id, node_id }, n) => {
    if (other.chains.includes(chain_id) || nfs.includes(`${chain_id} ${node_id}`))
      refuse(`/nfs/${n}`, `${node_id} of ${chain_id}`);
  });
  return errors;
}

function told(group: StoredGroup, actor: string, what: 'added' | 'changed' | 'removed'): EventDraft {
  return {
    type: `lending.${what}`,
    subject: group.id,
    message: `Lending group "${group.title}" ${what}`,
    actor,
    data: { group_id: group.id },
  };
}
