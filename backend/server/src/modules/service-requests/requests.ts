import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import {
  type BulkAnswer,
  type EventDraft,
  type FieldError,
  MAX_POOL_INSTANCES,
  type MeasuredRequest,
  type PoolInstance,
  type ServiceRequestSpec,
} from '@orrery/contract';
import { Admissions, canMatch, type Decision, edgesLeft, faultOf } from '@orrery/planner';
import { type Batch, COLLECTIONS, type Collections } from '../../platform/durable-collection/collections.js';
import type { DurableCollection } from '../../platform/durable-collection/durable-collection.js';
import { newId } from '../../platform/ids.js';
import { conflict, invalid } from '../../platform/problem.js';
import { KEYS } from '../../platform/redis-keys.js';
import { EVENT_LOG, type EventLog } from '../../ports/event-log.js';
import { INFRASTRUCTURE, type InfrastructureStore } from '../../ports/infrastructure-store.js';
import { heldRequest, PoolView } from './pool-view.js';
import { Pools } from './pools.js';
import { type HoldingRequest, holds, type StoredPool, StoredRequest } from './stored.js';

/** Of which those that hold capacity are never dropped. */
const MAX_REQUESTS = 40_000;
const NO_VALUES = () => null;

export type RequestEvent = Extract<EventDraft['type'], `service-request.${string}`>;

/** Decides on requests and books what they take, in one transaction. */
@Injectable()
export class Requests implements OnModuleInit {
  private readonly requests: DurableCollection<StoredRequest>;

  constructor(
    @Inject(COLLECTIONS) private readonly collections: Collections,
    @Inject(Pools) private readonly pools: Pools,
    @Inject(PoolView) private readonly view: PoolView,
    @Inject(INFRASTRUCTURE) private readonly infrastructure: InfrastructureStore,
    @Inject(EVENT_LOG) private readonly events: EventLog,
  ) {
    this.requests = collections.open<StoredRequest>({
      key: KEYS.serviceRequests,
      noun: 'service request',
      schema: StoredRequest,
      version: 1,
      idOf: ({ id }) => id,
      order: (a, b) => b.created_ms - a.created_ms || a.place - b.place,
      bound: { most: MAX_REQUESTS, policy: 'drop-last', keeps: holds },
    });
  }

  onModuleInit(): Promise<void> {
    return this.requests.load();
  }

  /** Newest first. */
  all(): readonly StoredRequest[] {
    return this.requests.all();
  }

  of(pool: string): StoredRequest[] {
    return this.requests.all().filter((it) => it.pool === pool);
  }

  heldOf(pool: string): HoldingRequest[] {
    return this.requests.all().filter((it): it is HoldingRequest => it.pool === pool && holds(it));
  }

  /** Throws 404. */
  get(id: string): StoredRequest {
    return this.requests.get(id);
  }

  onChange(listener: (pools: readonly string[]) => void): void {
    this.requests.onChange(({ put }) => listener([...new Set(put.map(({ pool }) => pool))]));
  }

  describe({ place: _, ...request }: StoredRequest): MeasuredRequest {
    const pool = this.pools.find(request.pool);
    const measured = pool ? this.view.measuredOf({ ...request, place: 0 }, pool) : { latency_us: null, bps: null };
    return { ...request, measured };
  }

  /** Accepts or refuses one request, and keeps it either way. Throws 422. */
  async create(spec: ServiceRequestSpec, by: string): Promise<StoredRequest> {
    const errors = this.errorsOf(spec, '');
    if (errors.length > 0) throw invalid(errors);
    return this.collections.commit((batch) => {
      const [decided] = this.decideIn(batch, [spec], by, { explains: true, books: true });
      const { request } = decided!;
      batch.put(this.requests, request);
      this.tellIn(batch, request.way ? 'service-request.accepted' : 'service-request.refused', [request]);
      return request;
    });
  }

  /** Decides on requests in turn; refused ones are not kept. Throws 422 that names the fields of any that is not valid. */
  async createAll(specs: readonly ServiceRequestSpec[], dryRun: boolean, by: string): Promise<BulkAnswer> {
    const errors: FieldError[] = [];
    for (const [i, spec] of specs.entries()) {
      if (errors.length >= 100) break;
      errors.push(...this.errorsOf(spec, `/requests/${i}`));
    }
    if (errors.length > 0) throw invalid(errors);
    return this.collections.commit((batch) => {
      const beganMs = performance.now();
      const decided = this.decideIn(batch, specs, by, { explains: false, books: !dryRun });
      const decided_ms = performance.now() - beganMs;
      const accepted = decided.filter(({ request }) => request.way !== null).map(({ request }) => request);
      if (!dryRun) {
        for (const request of accepted) batch.put(this.requests, request);
        for (const pool of new Set(accepted.map((it) => it.pool)))
          this.tellIn(
            batch,
            'service-request.accepted',
            accepted.filter((it) => it.pool === pool),
          );
      }
      return {
        accepted: accepted.length,
        refused: specs.length - accepted.length,
        dry_run: dryRun,
        decided_ms,
        results: decided.map(({ request, decision }) => ({
          id: decision.accepted && !dryRun ? request.id : null,
          latency_us: decision.accepted ? decision.latency_us : null,
          why: decision.accepted ? null : decision.why,
        })),
      };
    });
  }

  /** Gives back what the request holds. Throws 404, and 409 if it holds nothing. */
  release(id: string, by: string): Promise<void> {
    return this.collections.commit((batch) => {
      const request = this.requests.get(id);
      if (!holds(request) && request.state !== 'broken') throw conflict(`The request is ${request.state}.`);
      const released = { ...request, state: 'released' as const, updated_ms: Date.now() };
      batch.put(this.requests, released);
      this.tellIn(batch, 'service-request.released', [released], by);
    });
  }

  /** Chooses the ways of requests anew; those that get none are broken. */
  chooseAgainIn(
    batch: Batch,
    pool: StoredPool,
    again: readonly StoredRequest[],
    why: (it: StoredRequest) => string,
  ): void {
    const ids = new Set(again.map(({ id }) => id));
    const rest = this.heldOf(pool.definition.name).filter(({ id }) => !ids.has(id));
    const admissions = this.admissionsOf(pool, rest);
    const now = Date.now();
    const found: StoredRequest[] = [];
    const broken: StoredRequest[] = [];
    for (const request of again) {
      const decision = admissions.decide(request, false);
      if (decision.accepted) {
        found.push({ ...request, ...outcomeOf(decision), state: 'requested', updated_ms: now });
        continue;
      }
      const detail = `${why(request)} ${decision.why}`;
      if (request.state === 'broken' && request.why === detail) continue;
      broken.push({ ...request, ...outcomeOf(decision), state: 'broken', why: detail, updated_ms: now });
    }
    for (const request of [...found, ...broken]) batch.put(this.requests, request);
    this.deployIn(batch, pool, [...rest, ...found.filter(holds)], admissions);
    this.tellIn(batch, 'service-request.accepted', found);
    this.tellIn(
      batch,
      'service-request.broken',
      broken.filter((it) => again.find(({ id }) => id === it.id)!.state !== 'broken'),
    );
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

  private decideIn(
    batch: Batch,
    specs: readonly ServiceRequestSpec[],
    by: string,
    { explains, books }: { readonly explains: boolean; readonly books: boolean },
  ): { request: StoredRequest; decision: Decision }[] {
    const now = Date.now();
    const byPool = new Map<string, { pool: StoredPool; held: HoldingRequest[]; admissions: Admissions }>();
    const decided = specs.map((spec, place) => {
      const known = byPool.get(spec.pool);
      const pool = known?.pool ?? this.pools.get(spec.pool);
      const held = known?.held ?? this.heldOf(spec.pool);
      const admissions = known?.admissions ?? this.admissionsOf(pool, held);
      byPool.set(spec.pool, { pool, held, admissions });
      const id = newId('sr');
      const decision = admissions.decide({ id, ...spec }, explains);
      const times = { created_ms: now, updated_ms: now };
      const state = decision.accepted ? 'requested' : 'refused';
      const request: StoredRequest = {
        id,
        ...spec,
        state,
        ...outcomeOf(decision),
        operation_id: null,
        by,
        ...times,
        place,
      };
      if (holds(request)) held.push(request);
      return { request, decision };
    });
    if (books) for (const { pool, held, admissions } of byPool.values()) this.deployIn(batch, pool, held, admissions);
    return decided;
  }

  private admissionsOf(pool: StoredPool, held: readonly HoldingRequest[]): Admissions {
    const { state, all } = this.view.stateOf(pool, held, this.pools.slots());
    const working = new Set(state.instances.map(({ id }) => id));
    const { ways } = this.view.waysOf(pool, held, (id) => working.has(id));
    const room = MAX_POOL_INSTANCES - all.length;
    const options = state.options.slice(0, Math.max(0, room));
    const entries = this.view.entryRoomOf(pool, held);
    const others = this.pools.all().flatMap(({ definition }) => this.heldOf(definition.name));
    const own = new Set(held.map(({ id }) => id));
    return new Admissions({
      state: { ...state, options },
      ways,
      held: [
        ...held,
        ...others.filter((it) => it.pool !== pool.definition.name && !own.has(it.id)),
        ...this.view.classesOfOthers(this.pools.all()),
      ],
      classes: held.length,
      // Each that is deployed gets a way of its own.
      edges_left: edgesLeft(ways) - 2 * options.length,
      ...(entries ? { room: entries } : {}),
    });
  }

  /** Adds the instances that ways need to the pool, each with a way of its own. */
  private deployIn(batch: Batch, pool: StoredPool, held: readonly HoldingRequest[], admissions: Admissions): void {
    const ways = held.map(heldRequest).map(({ way }) => way);
    const numbers = new Set([...pool.instances.map(({ way }) => way), ...ways.map(({ number }) => number)]);
    const added = admissions.deployed.map(({ id, nf, rate_bps, slot }): PoolInstance => {
      let way = ways.find(({ instances }) => instances.length === 1 && instances[0] === id)?.number;
      for (let number = 1; way === undefined; number++) if (!numbers.has(number)) way = number;
      numbers.add(way);
      const [board, place] = slot.split('/');
      return { id, nf, on: 'board', slot: { board: board!, slot: Number(place) }, way, rate_bps };
    });
    if (added.length > 0) this.pools.putIn(batch, { ...pool, instances: [...pool.instances, ...added] });
  }

  /** One event for each pool: the log is not flooded by requests in bulk. */
  private tellIn(batch: Batch, type: RequestEvent, requests: readonly StoredRequest[], actor?: string): void {
    const [first] = requests;
    if (!first) return;
    const pool = this.pools.find(first.pool);
    const count = requests.length;
    const done = type.slice(type.indexOf('.') + 1);
    const draft: EventDraft<RequestEvent> = {
      type,
      subject: pool?.chain_id ?? first.pool,
      message: count === 1 ? `Service request ${first.id} is ${done}` : `${count} service requests are ${done}`,
      actor: actor ?? first.by,
      data: { pool: first.pool, count, requests: requests.slice(0, 20).map(({ id }) => id) },
    };
    batch.also((transaction) => this.events.appendIn(transaction, draft));
  }

  private errorsOf(spec: ServiceRequestSpec, at: string): FieldError[] {
    const pool = this.pools.find(spec.pool);
    if (!pool || pool.removing)
      return [{ pointer: `${at}/pool`, detail: `there is no pool "${spec.pool}"`, code: 'unknown-pool' }];
    const { definition } = pool;
    const errors: FieldError[] = [];
    const refuse = (pointer: string, detail: string, code: string) =>
      errors.push({ pointer: `${at}/${pointer}`, detail, code });
    const known = new Set(this.infrastructure.current.infrastructure.hosts.map(({ id }) => id));
    spec.from.forEach((host, i) => {
      if (!definition.hosts.includes(host) || !known.has(host))
        refuse(`from/${i}`, `${host} is not a host of the pool`, 'unknown-host');
      else if (spec.from.indexOf(host) < i) refuse(`from/${i}`, `${host} is named twice`, 'duplicate-id');
    });
    spec.match.forEach((term, i) => {
      const fault = faultOf(term, NO_VALUES);
      if (fault) refuse(`match/${i}/${fault.field}`, fault.message, fault.code);
    });
    if (errors.length === 0 && !canMatch(spec.match)) refuse('match', 'no packet can match every term', 'bad-filter');
    const order = definition.nfs.map(({ nf }) => nf);
    spec.functions.forEach((nf, i) => {
      const place = order.indexOf(nf);
      if (place < 0) refuse(`functions/${i}`, `the pool has no ${nf}`, 'unknown-nf');
      else if (i > 0 && place <= order.indexOf(spec.functions[i - 1]!))
        refuse(`functions/${i}`, `does not come after ${spec.functions[i - 1]} in the pool`, 'order');
    });
    return errors;
  }
}

function outcomeOf(decision: Decision): Pick<StoredRequest, 'way' | 'why' | 'shortages' | 'nearest_us' | 'rejected'> {
  if (!decision.accepted) {
    const { why, shortages, nearest_us, rejected } = decision;
    return { way: null, why, shortages: [...shortages], nearest_us, rejected: [...rejected] };
  }
  const { way, stages, latency_us, rejected } = decision;
  const chosen = { number: way.number, stages: [...stages], latency_us };
  return { way: chosen, why: null, shortages: [], nearest_us: null, rejected: [...rejected] };
}
