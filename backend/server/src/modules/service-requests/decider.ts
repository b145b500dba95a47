import { isDeepStrictEqual } from 'node:util';
import { Inject, Injectable } from '@nestjs/common';
import {
  type BulkAnswer,
  type BulkProgress,
  type BulkRequests,
  type Constraint,
  type FieldError,
  MAX_POOL_INSTANCES,
  type PoolInstance,
  type ServiceRequestSpec,
  serviceRequestName,
} from '@orrery/contract';
import { type Accepted, Admissions, ClassIndex, type Decision, edgesLeft } from '@orrery/planner';
import { type Batch, COLLECTIONS, type Collections } from '../../platform/durable-collection/collections.js';
import { newId } from '../../platform/ids.js';
import { Pace } from '../../platform/pace.js';
import { conflict, invalid, notFound, unavailable } from '../../platform/problem.js';
import { PoolView } from './pool-view.js';
import { Pools } from './pools.js';
import { Requests } from './requests.js';
import { SpecCheck } from './spec-check.js';
import { holds, type StoredPool, type StoredRequest } from './stored.js';
import { Turns } from './turns.js';

/** Calls that wait for their turn, at most; those of the loop come first and are not counted. */
const MOST_WAITING = 64;
/** Beginnings, where pools change while ways are looked for. */
const ATTEMPTS = 4;

interface Session {
  readonly pool: StoredPool;
  readonly admissions: Admissions;
}

/** How ways are chosen anew. */
interface Again {
  /** What requests become that get no way; late ones keep theirs. */
  readonly without: 'broken' | 'refused' | 'late';
  /** Why they need another one, as a sentence. */
  readonly why: (it: StoredRequest) => string;
  readonly signal: AbortSignal;
  /** Called when it comes to its turn. */
  readonly begins: () => void;
}

interface Decided {
  readonly request: StoredRequest;
  readonly decision: Decision;
}

/**
 * Decides on requests, one call at a time, in short pieces between which the server does other things. What is booked is
 * stored in one transaction, if the pools are still as they were.
 */
@Injectable()
export class Decider {
  private readonly turns = new Turns(MOST_WAITING);
  /** Classes of requests that hold capacity, but for those in `changed`. */
  private readonly index = new ClassIndex();
  private readonly changed = new Set<string>();
  private readonly bulks = new Map<string, BulkProgress>();

  constructor(
    @Inject(COLLECTIONS) private readonly collections: Collections,
    @Inject(Pools) private readonly pools: Pools,
    @Inject(Requests) private readonly requests: Requests,
    @Inject(PoolView) private readonly view: PoolView,
    @Inject(SpecCheck) private readonly check: SpecCheck,
  ) {
    requests.onChange((changed) => {
      for (const { id } of changed) this.changed.add(id);
    });
  }

  /** Accepts or refuses one request, and keeps it either way. Throws 422. */
  async create(spec: ServiceRequestSpec, by: string): Promise<StoredRequest> {
    const errors = this.check.errorsOf(spec, '');
    if (errors.length > 0) throw invalid(errors);
    return this.inTurn(new Pace(), async (call) => {
      const { request } = await call.decide(spec, true, by, 0);
      return (batch) => {
        call.bookIn(batch, [request]);
        this.requests.putIn(batch, request);
        this.requests.tellIn(
          batch,
          request.way ? 'service-request.accepted' : 'service-request.refused',
          [request],
          by,
        );
        return request;
      };
    });
  }

  /**
   * Decides on requests in turn; refused ones are not kept. Once `gone` is aborted, nothing is booked any more. Throws 422
   * that names the fields of any that is not valid.
   */
  async createAll(bulk: BulkRequests, by: string, gone: AbortSignal): Promise<BulkAnswer> {
    const { requests: specs, dry_run, progress_id } = bulk;
    const pace = new Pace(unlessGone(gone));
    const tell = this.progressOf(progress_id, specs.length);
    try {
      await this.requireValid(specs, pace);
      return await this.inTurn(pace, async (call) => {
        const before = pace.workMs;
        const decided: Decided[] = [];
        let accepted = 0;
        for (const [place, spec] of specs.entries()) {
          const one = await call.decide(spec, false, by, place);
          decided.push(one);
          if (one.decision.accepted) accepted++;
          tell(place + 1, accepted);
        }
        const answer = {
          accepted,
          refused: specs.length - accepted,
          dry_run,
          decided_ms: pace.workMs - before,
          results: decided.map(({ request, decision }) => ({
            id: decision.accepted && !dry_run ? request.id : null,
            latency_us: decision.accepted ? decision.latency_us : null,
            why: decision.accepted ? null : decision.why,
          })),
        };
        return (batch) => {
          if (dry_run || accepted === 0) return answer;
          const booked = decided.filter(({ decision }) => decision.accepted).map(({ request }) => request);
          call.bookIn(batch, booked);
          for (const request of booked) this.requests.putIn(batch, request);
          this.requests.tellIn(batch, 'service-request.accepted', booked, by);
          return answer;
        };
      });
    } finally {
      if (progress_id !== undefined) this.bulks.delete(progress_id);
    }
  }

  /** How far a call has come. Throws 404 once it is answered. */
  progress(id: string): BulkProgress {
    const found = this.bulks.get(id);
    if (!found) throw notFound('call under way', id);
    return found;
  }

  /**
   * Chooses the ways of requests anew, before all calls that wait. Those that have changed meanwhile are left as they are.
   * Resolves with the number that have a way.
   */
  chooseAgain(again: readonly StoredRequest[], { without, why, signal, begins }: Again): Promise<number> {
    const work = async (call: Call) => {
      call.without = new Set(again.map(({ id }) => id));
      const found: StoredRequest[] = [];
      const failed: { readonly before: StoredRequest; readonly after: StoredRequest }[] = [];
      const isAsItWas = (it: StoredRequest) => this.requests.find(it.id) === it;
      const befores = new Map(again.map((it) => [it.id, it]));
      let same = 0;
      for (const before of again) {
        const decision = await call.admit(before, false);
        if (decision.accepted && isSameWay(before, decision)) {
          same++;
          continue;
        }
        // Packets of a late request take its way until they take the other one.
        const former = without === 'late' ? before.way : before.former;
        if (decision.accepted) {
          const chosen = { ...before, ...outcomeOf(decision), former, operation_id: null };
          found.push({ ...chosen, state: 'requested' });
          continue;
        }
        if (before.state === without && sameLack(before.shortages, decision.shortages)) continue;
        const detail = `${why(before)} ${decision.why}`;
        const refused = { ...before, ...outcomeOf(decision), why: detail, former: null };
        failed.push({
          before,
          after: former ? { ...refused, state: 'late', way: former } : { ...refused, state: without },
        });
      }
      return (batch: Batch) => {
        // When it is told, and not when the decision began: what is dismissed was seen.
        const updated_ms = Date.now();
        const chosen = found.filter(({ id }) => isAsItWas(befores.get(id)!)).map((it) => ({ ...it, updated_ms }));
        const changed = failed
          .filter(({ before }) => isAsItWas(before))
          .map(({ before, after }) => ({ before, after: { ...after, updated_ms } }));
        call.bookIn(batch, chosen);
        for (const request of [...chosen, ...changed.map(({ after }) => after)]) this.requests.putIn(batch, request);
        this.requests.tellIn(batch, 'service-request.accepted', chosen);
        const fresh = changed.filter(({ before, after }) => before.state !== after.state).map(({ after }) => after);
        for (const state of new Set([without, 'late'] as const))
          this.requests.tellIn(
            batch,
            `service-request.${state}`,
            fresh.filter((it) => it.state === state),
          );
        return chosen.length + same;
      };
    };
    return this.inTurn(new Pace(unlessGone(signal)), work, begins);
  }

  private async requireValid(specs: readonly ServiceRequestSpec[], pace: Pace): Promise<void> {
    const errors: FieldError[] = [];
    for (const [i, spec] of specs.entries()) {
      if (errors.length >= 100) break;
      errors.push(...this.check.errorsOf(spec, `/requests/${i}`));
      await pace.breathe();
    }
    if (errors.length > 0) throw invalid(errors);
  }

  private progressOf(id: string | undefined, requests: number): (decided: number, accepted: number) => void {
    if (id === undefined) return () => undefined;
    if (this.bulks.has(id)) throw conflict('Another call has this progress_id.');
    const tell = (decided: number, accepted: number) => void this.bulks.set(id, { id, requests, decided, accepted });
    tell(0, 0);
    return tell;
  }

  /**
   * `work` decides and gives what is to be stored; again from the beginning where a pool has changed meanwhile. With
   * `begins`, which is called then, it comes to its turn first.
   */
  private inTurn<R>(pace: Pace, work: (call: Call) => Promise<(batch: Batch) => R>, begins?: () => void): Promise<R> {
    return this.turns.run(begins !== undefined, async () => {
      begins?.();
      pace.check();
      for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
        await this.catchUp(pace);
        const call = new Call(this.pools, this.requests, this.view, this.index, pace);
        const store = await work(call);
        const stored = await this.collections.commit((batch) => {
          // Here: what is stored meanwhile may take long.
          pace.check();
          return call.isCurrent ? { answer: store(batch) } : null;
        });
        if (stored) return stored.answer;
      }
      throw unavailable('The pool changes all the time.');
    });
  }

  private async catchUp(pace: Pace): Promise<void> {
    for (const id of this.changed) {
      this.changed.delete(id);
      const request = this.requests.find(id);
      if (request && holds(request)) this.index.add(request);
      else this.index.remove(id);
      await pace.breathe();
    }
  }
}

/** One call: what its requests take, pool by pool. */
class Call {
  /** Requests that hold nothing as long as it is decided on them. */
  without: ReadonlySet<string> = new Set();
  private readonly sessions = new Map<string, Session>();
  private readonly booked = new ClassIndex();
  private readonly slots = new Set<string>();
  /** Told of all its requests: of one call they are in the order in which they were asked for. */
  private readonly beganMs = Date.now();
  /** Of this call, by id: those that are booked first may be in the way of others. */
  private readonly asked = new Map<string, ServiceRequestSpec>();

  constructor(
    private readonly pools: Pools,
    private readonly requests: Requests,
    private readonly view: PoolView,
    private readonly index: ClassIndex,
    private readonly pace: Pace,
  ) {}

  /** Whether its pools are as they were when it began. */
  get isCurrent(): boolean {
    return [...this.sessions].every(([name, { pool }]) => {
      const now = this.pools.find(name);
      return now && !now.removing && isDeepStrictEqual(now.instances, pool.instances);
    });
  }

  async decide(spec: ServiceRequestSpec, explains: boolean, by: string, place: number): Promise<Decided> {
    const id = newId('sr');
    const decision = await this.admit({ id, ...spec }, explains);
    const request: StoredRequest = {
      id,
      ...spec,
      state: decision.accepted ? 'requested' : 'refused',
      ...outcomeOf(decision),
      operation_id: null,
      by,
      created_ms: this.beganMs,
      updated_ms: this.beganMs,
      place,
      former: null,
    };
    return { request, decision };
  }

  async admit(asked: ServiceRequestSpec & { readonly id: string }, explains: boolean): Promise<Decision> {
    const { admissions } = this.sessions.get(asked.pool) ?? (await this.begin(asked.pool));
    this.asked.set(asked.id, asked);
    const decision = admissions.decide(asked, explains);
    if (decision.accepted && decision.deployments.length > 0)
      for (const { option } of admissions.deployed) {
        this.slots.add(option.slot);
        for (const other of this.sessions.values())
          if (other.admissions !== admissions) other.admissions.block(option.slot);
      }
    await this.pace.breathe();
    return decision;
  }

  /** Adds the instances that the ways of these requests need to the pools. */
  bookIn(batch: Batch, booked: readonly StoredRequest[]): void {
    for (const [name, { admissions }] of this.sessions) {
      const stages = booked.filter(({ pool }) => pool === name).flatMap(({ way }) => way?.stages ?? []);
      const passed = new Set(stages.map(({ instance }) => instance));
      const added = admissions.deployed.flatMap(({ option: { id, nf, rate_bps, slot }, way }): PoolInstance[] => {
        return passed.has(id) ? [{ id, nf, on: 'board', slot: slotOf(slot), way, rate_bps }] : [];
      });
      if (added.length === 0) continue;
      const pool = this.pools.get(name);
      this.pools.putIn(batch, { ...pool, instances: [...pool.instances, ...added] });
    }
  }

  /** What a class is called that is in the way: of a request, or of another chain. */
  private nameOf(id: string): string {
    const request = this.asked.get(id) ?? this.requests.find(id);
    return request ? `the request "${serviceRequestName(request)}"` : this.view.chainName(id);
  }

  private async begin(name: string): Promise<Session> {
    const pool = this.pools.get(name);
    const all = this.requests.heldOf(name);
    const held = all.filter(({ id }) => !this.without.has(id));
    const claims = this.requests.claimsOf(name).filter(({ id }) => !this.without.has(id));
    const taken = [...this.pools.slots(), ...[...this.slots].map(slotOf)];
    const { state, all: instances } = this.view.stateOf(pool, held, taken);
    const working = new Set(state.instances.map(({ id }) => id));
    const { ways } = this.view.waysOf(pool, held, (id) => working.has(id), all);
    const entries = await this.view.entryRoomOf(pool, held, this.pace);
    const admissions = new Admissions({
      state: { ...state, options: state.options.slice(0, Math.max(0, MAX_POOL_INSTANCES - instances.length)) },
      ways,
      known: this.index,
      held: this.view.classesOfOthers(this.pools.all()),
      booked: this.booked,
      classes: claims.length,
      edges_left: edgesLeft(ways),
      ...(entries ? { room: entries } : {}),
      nameOf: (id) => this.nameOf(id),
    });
    const session = { pool, admissions };
    this.sessions.set(name, session);
    return session;
  }
}

/** Throws once the signal is aborted. */
function unlessGone(signal: AbortSignal): () => void {
  return () => {
    if (signal.aborted) throw conflict('Nobody waits for the answer any more; nothing was booked.');
  };
}

/** Whether the same is lacking, by whatever figures. */
function sameLack(a: readonly Constraint[], b: readonly Constraint[]): boolean {
  const what = (all: readonly Constraint[]) => all.map(({ constraint, where }) => `${constraint} ${where}`).join();
  return what(a) === what(b);
}

/** Whether the request has the way that was chosen, or is to get it. */
function isSameWay({ state, way }: StoredRequest, chosen: Accepted): boolean {
  if (state !== 'requested' && state !== 'late') return false;
  const { number, instances } = chosen.way;
  return way?.number === number && way.stages.map(({ instance }) => instance).join() === instances.join();
}

function slotOf(slot: string) {
  const [board, place] = slot.split('/');
  return { board: board!, slot: Number(place) };
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
