import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import {
  type EventDraft,
  Id,
  Name,
  PlacementDisruption,
  PlacementGain,
  TimestampMs,
  UpkeepPolicyRequest,
} from '@orrery/contract';
import { z } from 'zod';
import { type Batch, COLLECTIONS, type Collections } from '../../platform/durable-collection/collections.js';
import type { DurableCollection } from '../../platform/durable-collection/durable-collection.js';
import { conflict } from '../../platform/problem.js';
import { KEYS } from '../../platform/redis-keys.js';
import { EVENT_LOG, type EventLog } from '../../ports/event-log.js';
import { chainResource, LEASES, type LeaseBook } from '../../ports/lease-book.js';
import { PLAN_SHELVES, type PlanShelves } from '../../ports/plan-shelves.js';

const StoredPolicy = UpkeepPolicyRequest.safeExtend({ id: Id }).readonly();
type StoredPolicy = z.infer<typeof StoredPolicy>;

const POLICY = 'upkeep';
const DEFAULT: StoredPolicy = { ...UpkeepPolicyRequest.parse({}), id: POLICY };

const ADVICE = 'advice';
const HOLDER = 'upkeep';

/** A better plan, and what has become of it. */
const Proposal = z.strictObject({
  /** What runs (`placementOf`): for nothing else is it better. */
  placement: z.string().max(64),
  plan_id: Id,
  /** When its plan and its figures were made. */
  advised_ms: TimestampMs,
  moves: z.array(z.strictObject({ instance: Id, server: Name })),
  chains: z.array(Id),
  gain: PlacementGain,
  disruption: PlacementDisruption,
  why: z.string(),
});
export type Proposal = z.infer<typeof Proposal>;

/** What is advised. */
const StoredAdvice = z.strictObject({
  id: Id,
  /** Null: nothing is. */
  proposal: Proposal.nullable(),
  /** Its application, which has not been accounted for yet. */
  applying: z.strictObject({ operation_id: Id, by: z.string() }).nullable(),
  refusal: z.string().nullable(),
  dismissed_until_ms: TimestampMs.nullable(),
});
export type StoredAdvice = z.infer<typeof StoredAdvice>;

/** Its plan is made anew after this time: plans are kept for a day. */
const RENEW_MS = 43_200_000;

const NOTHING: StoredAdvice = { id: ADVICE, proposal: null, applying: null, refusal: null, dismissed_until_ms: null };

/** The policy, and what is advised or being applied: all of it survives a kill. */
@Injectable()
export class UpkeepRecords implements OnModuleInit {
  private readonly policies: DurableCollection<StoredPolicy>;
  private readonly advices: DurableCollection<StoredAdvice>;
  /** Monotonic clock: the end of the dismissal. What was left of it is taken from the wall clock once. */
  private dismissal: { readonly untilMs: number; readonly endMs: number } | null = null;

  constructor(
    @Inject(COLLECTIONS) private readonly collections: Collections,
    @Inject(EVENT_LOG) private readonly events: EventLog,
    @Inject(LEASES) private readonly leases: LeaseBook,
    @Inject(PLAN_SHELVES) private readonly shelves: PlanShelves,
  ) {
    this.policies = collections.open({
      key: KEYS.upkeepPolicy,
      noun: 'upkeep policy',
      schema: StoredPolicy,
      version: 1,
      idOf: ({ id }) => id,
      bound: { most: 1, policy: 'refuse' },
    });
    this.advices = collections.open({
      key: KEYS.placementAdvice,
      noun: 'placement advice',
      schema: StoredAdvice,
      version: 2,
      migrate: withPlacement,
      idOf: ({ id }) => id,
      bound: { most: 1, policy: 'refuse' },
    });
  }

  async onModuleInit(): Promise<void> {
    for (const collection of [this.policies, this.advices]) await collection.load();
  }

  get policy(): StoredPolicy {
    return this.policies.find(POLICY) ?? DEFAULT;
  }

  get policyRevision(): number {
    return this.policies.find(POLICY) ? this.policies.revisionOf(POLICY) : 0;
  }

  get advice(): StoredAdvice {
    return this.advices.find(ADVICE) ?? NOTHING;
  }

  get adviceRevision(): number {
    return this.advices.find(ADVICE) ? this.advices.revisionOf(ADVICE) : 0;
  }

  /** Null: what is better is advised. */
  get dismissedUntilMs(): number | null {
    const untilMs = this.advice.dismissed_until_ms;
    if (untilMs === null) return null;
    if (this.dismissal?.untilMs !== untilMs)
      this.dismissal = { untilMs, endMs: performance.now() + untilMs - Date.now() };
    return performance.now() < this.dismissal.endMs ? untilMs : null;
  }

  /** Whether the plan of the advice is to be made anew. */
  get isOld(): boolean {
    const { proposal } = this.advice;
    return proposal !== null && Date.now() - proposal.advised_ms > RENEW_MS;
  }

  onChange(listener: () => void): void {
    for (const collection of [this.policies, this.advices]) collection.onChange(listener);
  }

  replacePolicy(request: UpkeepPolicyRequest, ifMatch: string | null, by: string): Promise<void> {
    return this.collections.commit((batch) => {
      batch.put(this.policies, { ...request, id: POLICY }, this.policies.find(POLICY) ? ifMatch : null);
      const message = `Upkeep policy changed: it is ${request.enabled ? `on (${request.mode})` : 'off'}`;
      this.tell(batch, { type: 'upkeep.policy', subject: POLICY, message, actor: by, data: request });
    });
  }

  /**
   * What is advised from now on; null: nothing. Without an event it is the same as before, with the figures of now. An advice that
   * is being applied stays.
   */
  propose(proposal: Proposal | null, event?: EventDraft): Promise<void> {
    return this.collections.commit((batch) => {
      if (this.advice.applying || (proposal === null && this.advice.proposal === null)) return;
      const refusal = proposal && !event ? this.advice.refusal : null;
      this.put(batch, { ...this.advice, proposal, refusal });
      if (event) this.tell(batch, event);
    });
  }

  /** Throws 409 if there is nothing to dismiss, 412 if it is another advice. */
  dismiss(hours: number, ifMatch: string | null): Promise<void> {
    const dismissed_until_ms = Date.now() + hours * 3_600_000;
    return this.collections.commit((batch) => {
      this.requireAdvice(this.advice);
      this.put(batch, { ...NOTHING, dismissed_until_ms }, ifMatch);
    });
  }

  /** Throws 409 if there is nothing to apply or another change holds a chain, 412 if it is another advice. */
  begin(operation_id: string, by: string, ifMatch: string | null): Promise<Proposal> {
    return this.collections.commit((batch) => {
      const proposal = this.requireAdvice(this.advice);
      this.leases.acquireIn(batch, {
        claim: 'change',
        holder: operation_id,
        purpose: 'upkeep of placements',
        by,
        resources: proposal.chains.map(chainResource),
      });
      this.put(batch, { ...this.advice, applying: { operation_id, by }, refusal: null }, ifMatch);
      return proposal;
    });
  }

  /** The application has ended; `refusal`: without effect. Nothing happens where that is known already. */
  end(operation_id: string, refusal: string | null, event: EventDraft): Promise<void> {
    return this.collections.commit((batch) => {
      const { advice } = this;
      if (advice.applying?.operation_id !== operation_id) return;
      this.leases.releaseIn(batch, 'change', operation_id);
      const proposal = refusal === null ? null : advice.proposal;
      this.put(batch, { ...advice, proposal, applying: null, refusal });
      this.tell(batch, event);
    });
  }

  private requireAdvice({ proposal, applying }: StoredAdvice): Proposal {
    if (applying) throw conflict(`The advice is being applied by operation ${applying.operation_id}.`);
    if (!proposal) throw conflict('No better placement is advised.');
    return proposal;
  }

  private put(batch: Batch, advice: StoredAdvice, ifMatch: string | null = null): void {
    batch.put(this.advices, advice, ifMatch);
    // It can be shown for as long as it is advised.
    batch.also((transaction) => this.shelves.holdIn(transaction, HOLDER, advice.proposal?.plan_id ?? null));
  }

  private tell(batch: Batch, event: EventDraft): void {
    batch.also((transaction) => this.events.appendIn(transaction, event));
  }
}

/** Advices of version 1 named the plan that ran. They are made anew, and refused where they were about to be applied. */
function withPlacement(stored: unknown): unknown {
  const { proposal, ...advice } = stored as { readonly proposal: { readonly base: string } | null };
  if (proposal === null) return stored;
  const { base: _base, ...rest } = proposal;
  return { ...advice, proposal: { ...rest, placement: '', advised_ms: 0 } };
}
