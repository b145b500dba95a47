import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { type EventDraft, type MeasuredRequest, type RouteInput, serviceRequestName } from '@orrery/contract';
import { grouped } from '@orrery/planner';
import { type Batch, COLLECTIONS, type Collections } from '../../platform/durable-collection/collections.js';
import type { DurableCollection } from '../../platform/durable-collection/durable-collection.js';
import { conflict } from '../../platform/problem.js';
import { KEYS } from '../../platform/redis-keys.js';
import { EVENT_LOG, type EventLog } from '../../ports/event-log.js';
import { PoolView } from './pool-view.js';
import { Pools } from './pools.js';
import { claims, type HoldingRequest, holds, StoredRequest } from './stored.js';

/** Of which those that hold capacity or wait for it, at most 4,096 for each pool, are never dropped. */
const MAX_REQUESTS = 40_000;

export type RequestEvent = Extract<EventDraft['type'], `service-request.${string}`>;

/** Requests as they are kept. */
@Injectable()
export class Requests implements OnModuleInit {
  private readonly requests: DurableCollection<StoredRequest>;
  /** Those that claim capacity, by pool, of the list that was looked through for them. */
  private claiming: { readonly of: readonly StoredRequest[] | null; readonly byPool: Map<string, StoredRequest[]> } = {
    of: null,
    byPool: new Map(),
  };

  constructor(
    @Inject(COLLECTIONS) private readonly collections: Collections,
    @Inject(Pools) private readonly pools: Pools,
    @Inject(PoolView) private readonly view: PoolView,
    @Inject(EVENT_LOG) private readonly events: EventLog,
  ) {
    this.requests = collections.open<StoredRequest>({
      key: KEYS.serviceRequests,
      noun: 'service request',
      schema: StoredRequest,
      version: 1,
      idOf: ({ id }) => id,
      numbered: 'newest-first',
      order: (a, b) => b.created_ms - a.created_ms || a.place - b.place,
      bound: { most: MAX_REQUESTS, policy: 'drop-last', keeps: claims },
    });
  }

  onModuleInit(): Promise<void> {
    return this.requests.load();
  }

  /** Newest first. */
  all(): readonly StoredRequest[] {
    return this.requests.all();
  }

  /** That hold capacity of the pool or wait for it. */
  claimsOf(pool: string): readonly StoredRequest[] {
    const all = this.requests.all();
    if (this.claiming.of !== all) this.claiming = { of: all, byPool: grouped(all.filter(claims), (it) => it.pool) };
    return this.claiming.byPool.get(pool) ?? [];
  }

  /** In the order in which they were asked for. */
  oldestFirst(requests: readonly StoredRequest[]): StoredRequest[] {
    const added = new Map(requests.map(({ id }) => [id, this.requests.addedBy(id)]));
    return requests.toSorted(
      (a, b) => added.get(a.id)! - added.get(b.id)! || a.created_ms - b.created_ms || a.place - b.place,
    );
  }

  heldOf(pool: string): HoldingRequest[] {
    return this.claimsOf(pool).filter(holds);
  }

  find(id: string): StoredRequest | undefined {
    return this.requests.find(id);
  }

  /** Throws 404. */
  get(id: string): StoredRequest {
    return this.requests.get(id);
  }

  onChange(listener: (changed: readonly StoredRequest[]) => void): void {
    this.requests.onChange(({ put, removed }) => listener([...put, ...removed]));
  }

  describe(stored: StoredRequest): MeasuredRequest {
    const { place: _place, former: _former, ...request } = stored;
    const pool = this.pools.find(request.pool);
    const measured = pool ? this.view.measuredOf(stored, pool) : { latency_us: null, bps: null };
    return { ...request, measured };
  }

  /** Gives back what the request holds. Throws 404, and 409 where it holds nothing. */
  release(id: string, by: string): Promise<void> {
    return this.collections.commit((batch) => {
      const request = this.requests.get(id);
      if (!claims(request)) throw conflict(`The request is ${request.state}.`);
      this.releaseIn(batch, [request], by);
    });
  }

  /** Forgets one that was refused. Throws 404, and 409 if it was not. */
  forget(id: string, by: string): Promise<void> {
    return this.collections.commit((batch) => {
      const request = this.requests.get(id);
      if (request.state !== 'refused') throw conflict(`The request is ${request.state}.`);
      this.dismissIn(batch, [request], by);
    });
  }

  /**
   * Forgets those of a state, of one pool or of all, but none that came to it after `until`. A time to come is of before the wall
   * clock was set back.
   */
  dismiss(
    { state, pool, until = Number.POSITIVE_INFINITY }: RouteInput<'dismissServiceRequests'>['query'],
    by: string,
  ): Promise<void> {
    return this.collections.commit((batch) => {
      const nowMs = Date.now();
      const those = this.requests
        .all()
        .filter((it) => it.state === state && (it.updated_ms <= until || it.updated_ms > nowMs))
        .filter((it) => pool === undefined || it.pool === pool);
      this.dismissIn(batch, those, by);
    });
  }

  releaseIn(batch: Batch, requests: readonly StoredRequest[], by: string): void {
    const released = requests.map((it) => ({ ...it, state: 'released' as const, updated_ms: Date.now() }));
    for (const request of released) batch.put(this.requests, request);
    for (const name of new Set(requests.map(({ pool }) => pool))) this.pools.releasedIn(batch, name, by);
    this.tellIn(batch, 'service-request.released', released, by);
  }

  private dismissIn(batch: Batch, requests: readonly StoredRequest[], by: string): void {
    for (const { id } of requests) batch.remove(this.requests, id);
    this.tellIn(batch, 'service-request.dismissed', requests, by);
  }

  /** Changes the state of requests, with their event. */
  changeIn(
    batch: Batch,
    requests: readonly StoredRequest[],
    change: Partial<StoredRequest>,
    event?: RequestEvent,
  ): void {
    const changed = requests.map((it) => ({ ...it, ...change, updated_ms: Date.now() }));
    for (const request of changed) batch.put(this.requests, request);
    if (event) this.tellIn(batch, event, changed);
  }

  putIn(batch: Batch, request: StoredRequest): void {
    batch.put(this.requests, request);
  }

  /** One event for each pool: the log is not flooded by requests in bulk. Without an actor, the server did it. */
  tellIn(batch: Batch, type: RequestEvent, requests: readonly StoredRequest[], actor?: string): void {
    for (const name of new Set(requests.map(({ pool }) => pool))) {
      const those = requests.filter(({ pool }) => pool === name);
      const count = those.length;
      const done = type.slice(type.indexOf('.') + 1);
      const draft: EventDraft<RequestEvent> = {
        type,
        subject: this.pools.find(name)?.chain_id ?? name,
        message:
          count === 1
            ? `Service request "${serviceRequestName(those[0]!)}" is ${done}`
            : `${count} service requests are ${done}`,
        ...(actor === undefined ? {} : { actor }),
        data: { pool: name, count, requests: those.slice(0, 20).map(({ id }) => id) },
      };
      batch.also((transaction) => this.events.appendIn(transaction, draft));
    }
  }
}
