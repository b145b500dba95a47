import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import type { ReconfigurationPolicyRequest } from '@orrery/contract';
import { newId } from '../../platform/ids.js';
import { Mutex } from '../../platform/mutex.js';
import { conflict, notFound } from '../../platform/problem.js';
import { STORE, type Store } from '../../platform/redis.js';
import { KEYS } from '../../platform/redis-keys.js';
import { EVENT_LOG, type EventDraft, type EventLog } from '../../ports/event-log.js';

export type StoredPolicy = ReconfigurationPolicyRequest & { readonly id: string };

const MAX_POLICIES = 256;

/** The policies, in memory as in Redis. One change at a time, so that none is made to what another has replaced. */
@Injectable()
export class Policies implements OnModuleInit {
  private readonly entries = new Map<string, StoredPolicy>();
  private readonly mutex = new Mutex();

  constructor(
    @Inject(STORE) private readonly store: Store,
    @Inject(EVENT_LOG) private readonly events: EventLog,
  ) {}

  async onModuleInit(): Promise<void> {
    for (const policy of await this.store.hashValues<StoredPolicy>(KEYS.reconfigurationPolicies))
      this.entries.set(policy.id, policy);
  }

  all(): readonly StoredPolicy[] {
    return [...this.entries.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  get(id: string): StoredPolicy {
    const policy = this.entries.get(id);
    if (!policy) throw notFound('reconfiguration policy', id);
    return policy;
  }

  add(request: ReconfigurationPolicyRequest, by: string): Promise<StoredPolicy> {
    return this.mutex.run(async () => {
      if (this.entries.size >= MAX_POLICIES) throw conflict(`There are ${MAX_POLICIES} policies already.`);
      return this.write({ ...request, id: newId('rp') }, by, 'added');
    });
  }

  /** `check` throws where the policy, as it is by then, must not be replaced so. */
  replace(
    id: string,
    request: ReconfigurationPolicyRequest,
    by: string,
    check: (now: StoredPolicy) => void,
  ): Promise<StoredPolicy> {
    return this.mutex.run(async () => {
      check(this.get(id));
      return this.write({ ...request, id }, by, 'changed');
    });
  }

  remove(id: string, by: string): Promise<void> {
    return this.mutex.run(async () => this.drop(this.get(id), 'removed', by));
  }

  /** Takes a chain that was deleted out of every policy; one that is for an NF of it goes. */
  forget(pipelineId: string): Promise<void> {
    return this.mutex.run(async () => {
      for (const policy of this.all()) {
        const displaces = policy.displaces.filter(({ pipeline_id }) => pipeline_id !== pipelineId);
        if (policy.nf.pipeline_id === pipelineId) await this.drop(policy, 'removed: its chain was deleted');
        else if (displaces.length < policy.displaces.length)
          await this.write({ ...policy, displaces }, undefined, 'changed: a chain that it displaced was deleted');
      }
    });
  }

  private async drop(policy: StoredPolicy, what: What, by?: string): Promise<void> {
    await this.store.transact((transaction) => {
      transaction.hdel(KEYS.reconfigurationPolicies, policy.id);
      this.events.appendIn(transaction, told(policy, by, what));
    });
    this.entries.delete(policy.id);
  }

  private async write(policy: StoredPolicy, by: string | undefined, what: What): Promise<StoredPolicy> {
    await this.store.transact((transaction) => {
      transaction.hset(KEYS.reconfigurationPolicies, policy.id, JSON.stringify(policy));
      this.events.appendIn(transaction, told(policy, by, what));
    });
    this.entries.set(policy.id, policy);
    return policy;
  }
}

/** What became of it, and why if nobody asked. */
type What = 'added' | `changed${string}` | `removed${string}`;

function told(policy: StoredPolicy, actor: string | undefined, what: What): EventDraft {
  return {
    type: `policy.${what.split(':')[0]}`,
    subject: policy.id,
    message: `Reconfiguration policy "${policy.title}" ${what}`,
    ...(actor === undefined ? {} : { actor }),
    data: { policy_id: policy.id, ...policy.nf },
  };
}
