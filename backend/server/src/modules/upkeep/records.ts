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
  /** Until when, by the wall clock of then, and for how long: no more is left, whatever that clock says. */
  dismissed: z.strictObject({ until_ms: TimestampMs, for_ms: z.number().min(0) }).nullable(),
});
export type StoredAdvice = z.infer<typeof StoredAdvice>;

/** Its plan is made anew after this time: plans are kept for a day. */
const RENEW_MS = 43_200_000;

/** How often it is stored what is left of a dismissal: a server that is started by a clock that is behind adds at most this. */
const KEPT_EVERY_MS = 600_000;

/** The longest that can be asked for. */
const MOST_DISMISSED_MS = 168 * 3_600_000;

const NOTHING: StoredAdvice = { id: ADVICE, proposal: null, applying: null, refusal: null, dismissed: null };

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
      version: 3,
      migrate: ofEarlier,
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

  /** By the wall clock of now; null: what is better is advised. */
  get dismissedUntilMs(): number | null {
    const leftMs = this.dismissedForMs;
    return leftMs > 0 ? Math.round(Date.now() + leftMs) : null;
  }

  /** What is left of a dismissal. */
  /** How often what is left of a dismissal is stored; null: nothing is dismissed. */
  get keepMs(): number | null {
    return this.advice.dismissed === null ? null : KEPT_EVERY_MS;
  }

  private get dismissedForMs(): number {
    const { dismissed } = this.advice;
    if (dismissed === null) return 0;
    const { until_ms: untilMs, for_ms } = dismissed;
    const nowMs = performance.now();
    if (this.dismissal?.untilMs !== untilMs)
      this.dismissal = { untilMs, endMs: nowMs + Math.min(untilMs - Date.now(), for_ms) };
    return Math.max(0, this.dismissal.endMs - nowMs);
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
    const for_ms = hours * 3_600_000;
    const dismissed = { until_ms: Date.now() + for_ms, for_ms };
    return this.collections.commit((batch) => {
      this.requireAdvice(this.advice);
      this.put(batch, { ...NOTHING, dismissed }, ifMatch);
    });
  }

  /** Stores what is left of a dismissal, and that it is over, so that a server that is started later knows. To be called often. */
  async keepDismissal(): Promise<void> {
    const { dismissed } = this.advice;
    const leftMs = this.dismissedForMs;
    if (dismissed === null || (leftMs > 0 && dismissed.for_ms - leftMs < KEPT_EVERY_MS)) return;
    const left = leftMs > 0 ? { until_ms: Math.round(Date.now() + leftMs), for_ms: leftMs } : null;
    await this.collections.commit((batch) => {
      if (this.advice.dismissed === dismissed) this.put(batch, { ...this.advice, dismissed: left });
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

/**
 * Advices of version 1 named the plan that ran. They are made anew, and refused where they were about to be applied. Up to version
 * 2 nothing said for how long one was dismissed.
 */
function ofEarlier(stored: unknown, from: number): unknown {
  const { proposal, dismissed_until_ms, ...advice } = stored as {
    readonly proposal: { readonly base?: string } | null;
    readonly dismissed_until_ms: number | null;
  };
  const until = { until_ms: dismissed_until_ms, for_ms: MOST_DISMISSED_MS };
  const dismissed = dismissed_until_ms === null ? null : until;
  if (proposal === null || from >= 2) return { ...advice, proposal, dismissed };
  const { base: _base, ...rest } = proposal;
  return { ...advice, proposal: { ...rest, placement: '', advised_ms: 0 }, dismissed };
}
