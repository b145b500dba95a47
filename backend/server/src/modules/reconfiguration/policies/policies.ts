import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { type EventDraft, Id, ReconfigurationPolicyRequest } from '@orrery/contract';
import { z } from 'zod';
import { type Batch, COLLECTIONS, type Collections } from '../../../platform/durable-collection/collections.js';
import type { DurableCollection } from '../../../platform/durable-collection/durable-collection.js';
import { newId } from '../../../platform/ids.js';
import { type Precondition, requireRead } from '../../../platform/precondition.js';
import { KEYS } from '../../../platform/redis-keys.js';
import { EVENT_LOG, type EventLog } from '../../../ports/event-log.js';

export const StoredPolicy = ReconfigurationPolicyRequest.safeExtend({ id: Id }).readonly();
export type StoredPolicy = z.infer<typeof StoredPolicy>;

const MAX_POLICIES = 256;

@Injectable()
export class Policies implements OnModuleInit {
  private readonly policies: DurableCollection<StoredPolicy>;

  constructor(
    @Inject(COLLECTIONS) private readonly collections: Collections,
    @Inject(EVENT_LOG) private readonly events: EventLog,
  ) {
    this.policies = collections.open({
      key: KEYS.reconfigurationPolicies,
      noun: 'reconfiguration policy',
      schema: StoredPolicy,
      version: 1,
      idOf: ({ id }) => id,
      bound: { most: MAX_POLICIES, policy: 'refuse' },
    });
  }

  onModuleInit(): Promise<void> {
    return this.policies.load();
  }

  all(): readonly StoredPolicy[] {
    return this.policies.all();
  }

  /** Throws 404. */
  get(id: string): StoredPolicy {
    return this.policies.get(id);
  }

  revisionOf(id: string): number {
    return this.policies.revisionOf(id);
  }

  add(request: ReconfigurationPolicyRequest, by: string): Promise<StoredPolicy> {
    return this.collections.commit((batch) =>
      this.write(batch, { ...request, id: newId('rp') }, by, { what: 'added' }),
    );
  }

  /** `check` gets the current policy and throws if it must not be replaced. */
  replace(
    id: string,
    request: ReconfigurationPolicyRequest,
    given: Precondition,
    by: string,
    check: (now: StoredPolicy) => void,
  ): Promise<StoredPolicy> {
    return this.collections.commit((batch) => {
      const now = this.policies.get(id);
      const ifMatch = requireRead(given, `reconfiguration policy "${id}"`, this.policies.revisionOf(id));
      check(now);
      return this.write(batch, { ...request, id }, by, { what: 'changed' }, ifMatch);
    });
  }

  remove(id: string, ifMatch: string | null, by: string): Promise<void> {
    return this.collections.commit((batch) => this.drop(batch, this.policies.get(id), by, undefined, ifMatch));
  }

  /** Removes a deleted chain from every policy; policies for its NFs are removed. */
  forget(chainId: string): Promise<void> {
    return this.collections.commit((batch) => {
      for (const policy of this.all()) {
        const displaces = policy.displaces.filter(({ chain_id }) => chain_id !== chainId);
        if (policy.nf.chain_id === chainId) this.drop(batch, policy, undefined, 'its chain was deleted');
        else if (displaces.length < policy.displaces.length) {
          const change = { what: 'changed', reason: 'a chain that it displaced was deleted' } as const;
          this.write(batch, { ...policy, displaces }, undefined, change);
        }
      }
    });
  }

  private drop(
    batch: Batch,
    policy: StoredPolicy,
    by: string | undefined,
    reason?: string,
    ifMatch: string | null = null,
  ): void {
    batch.remove(this.policies, policy.id, ifMatch);
    batch.also((transaction) => this.events.appendIn(transaction, told(policy, by, { what: 'removed', reason })));
  }

  private write(
    batch: Batch,
    policy: StoredPolicy,
    by: string | undefined,
    change: PolicyChange,
    ifMatch: string | null = null,
  ): StoredPolicy {
    batch.put(this.policies, policy, ifMatch);
    batch.also((transaction) => this.events.appendIn(transaction, told(policy, by, change)));
    return policy;
  }
}

interface PolicyChange {
  readonly what: 'added' | 'changed' | 'removed';
  /** Reason for a change without a request. */
  readonly reason?: string | undefined;
}

function told(policy: StoredPolicy, actor: string | undefined, { what, reason }: PolicyChange): EventDraft {
  return {
    type: `policy.${what}`,
    subject: policy.id,
    message: `Reconfiguration policy "${policy.title}" ${what}${reason ? `: ${reason}` : ''}`,
    ...(actor === undefined ? {} : { actor }),
    data: { policy_id: policy.id, ...policy.nf },
  };
}
