import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { Id, ScalingPolicyRequest } from '@orrery/contract';
import { z } from 'zod';
import { type Batch, COLLECTIONS, type Collections } from '../../platform/durable-collection/collections.js';
import type { DurableCollection } from '../../platform/durable-collection/durable-collection.js';
import { newId } from '../../platform/ids.js';
import { type Precondition, requireRead } from '../../platform/precondition.js';
import { conflict } from '../../platform/problem.js';
import { KEYS } from '../../platform/redis-keys.js';
import { EVENT_LOG, type EventLog } from '../../ports/event-log.js';

export const StoredScalingPolicy = ScalingPolicyRequest.safeExtend({ id: Id }).readonly();
export type StoredScalingPolicy = z.infer<typeof StoredScalingPolicy>;

const MAX_POLICIES = 256;

/** Scaling policies, at most one for each NF. */
@Injectable()
export class ScalingPolicies implements OnModuleInit {
  private readonly policies: DurableCollection<StoredScalingPolicy>;

  constructor(
    @Inject(COLLECTIONS) private readonly collections: Collections,
    @Inject(EVENT_LOG) private readonly events: EventLog,
  ) {
    this.policies = collections.open({
      key: KEYS.scalingPolicies,
      noun: 'scaling policy',
      schema: StoredScalingPolicy,
      version: 1,
      idOf: ({ id }) => id,
      bound: { most: MAX_POLICIES, policy: 'refuse' },
    });
  }

  onModuleInit(): Promise<void> {
    return this.policies.load();
  }

  all(): readonly StoredScalingPolicy[] {
    return this.policies.all();
  }

  /** Throws 404. */
  get(id: string): StoredScalingPolicy {
    return this.policies.get(id);
  }

  revisionOf(id: string): number {
    return this.policies.revisionOf(id);
  }

  /** Throws 409 where the NF has a policy. */
  add(request: ScalingPolicyRequest, by: string): Promise<StoredScalingPolicy> {
    return this.collections.commit((batch) => this.write(batch, { ...request, id: newId('scp') }, by, 'added'));
  }

  replace(id: string, request: ScalingPolicyRequest, given: Precondition, by: string): Promise<StoredScalingPolicy> {
    return this.collections.commit((batch) => {
      this.policies.get(id);
      const ifMatch = requireRead(given, `scaling policy "${id}"`, this.policies.revisionOf(id));
      return this.write(batch, { ...request, id }, by, 'changed', ifMatch);
    });
  }

  /** `by`: absent where its chain is gone. */
  remove(id: string, ifMatch: string | null, by?: string): Promise<void> {
    return this.collections.commit((batch) => {
      const policy = this.policies.get(id);
      batch.remove(this.policies, id, ifMatch);
      this.tell(batch, policy, by, 'removed');
    });
  }

  private write(
    batch: Batch,
    policy: StoredScalingPolicy,
    by: string,
    what: 'added' | 'changed',
    ifMatch: string | null = null,
  ): StoredScalingPolicy {
    const { nf } = policy;
    const other = this.all().find(
      (it) => it.id !== policy.id && it.nf.chain_id === nf.chain_id && it.nf.node_id === nf.node_id,
    );
    if (other)
      throw conflict(`${nf.node_id} has a scaling policy already: ${other.id}.`, [
        { pointer: '/nf', detail: 'has a scaling policy already', code: 'duplicate' },
      ]);
    batch.put(this.policies, policy, ifMatch);
    this.tell(batch, policy, by, what);
    return policy;
  }

  private tell(
    batch: Batch,
    { id, nf }: StoredScalingPolicy,
    by: string | undefined,
    what: 'added' | 'changed' | 'removed',
  ): void {
    const message = `Scaling policy of ${nf.node_id} ${what}${by === undefined ? ': its chain was deleted' : ''}`;
    const actor = by === undefined ? {} : { actor: by };
    const data = { policy_id: id, ...nf, what };
    batch.also((transaction) =>
      this.events.appendIn(transaction, { type: 'scaling.policy', subject: id, message, ...actor, data }),
    );
  }
}
