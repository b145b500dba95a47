import { setTimeout as sleep } from 'node:timers/promises';
import { Inject, Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import {
  type EventDraft,
  FlowExport,
  FlowHoldEnd,
  FlowImport,
  type FlowMigration,
  FlowRelease,
  type MigrateRequest,
  type MigrationPreview,
  nfInstances,
  type Operation,
  RequestedChange,
  unknownField,
} from '@orrery/contract';
import { unmodifiedOf } from '@orrery/planner';
import { COLLECTIONS, type Collections } from '../../platform/durable-collection/collections.js';
import { newId } from '../../platform/ids.js';
import { conflict, notFound, ProblemError } from '../../platform/problem.js';
import { PROJECT } from '../../platform/redis-keys.js';
import { DEPLOYMENT_VIEW, type DeploymentView } from '../../ports/deployment-view.js';
import { DESCRIPTORS, type NfDescriptors } from '../../ports/descriptor-catalogue.js';
import { EVENT_LOG, type EventLog } from '../../ports/event-log.js';
import type { FlowMover } from '../../ports/flow-mover.js';
import { type CallMethod, FLEET, type NodeFleet } from '../../ports/node-fleet.js';
import { isOver, OPERATIONS, type OperationLog } from '../../ports/operation-log.js';
import {
  afterAttempts,
  countFlows,
  type FlowEnds,
  type FlowSplit,
  type FlowSteering,
  flowsDone,
  type MoveCounts,
  type MoveStep,
  moveFlows,
  NOTHING_MOVED,
  NotSteered,
} from './flow-move.js';
import { atStep, ended, stepsOf, whatIsLeft } from './migration-steps.js';
import { MoveDoubts } from './move-doubt.js';
import { type Steering, type SteeringPoint, steeringBetween } from './steering-points.js';

const PACE = {
  round_ms: 250,
  quiet_ms: 1000,
  follow_ms: 60_000,
  sleep: (ms: number) => sleep(ms),
  nowMs: () => performance.now(),
};
/**
 * A copy begins anew after an error, such as an agent that starts anew, until no attempt has gone further than the ones before it for
 * so long, and at least so many have failed.
 */
const PATIENCE_MS = 30_000;
const ATTEMPTS = 5;
const RETRY_MS = 500;
/** Between two records of progress. */
const RECORD_MS = 500;
/** Longest that packets wait at a split, whatever becomes of this server. */
const HOLD_MS = 500;
/** Calls of which nobody knows what was done where their reply is lost. */
const DOUBTFUL: Partial<Record<CallMethod, 'copy-flows' | 'release-flows'>> = {
  import_state: 'copy-flows',
  release_flows: 'release-flows',
};

interface Run {
  cancel: AbortController;
  by: string | null;
  done: Promise<void>;
}

/** Operations of kind `migrate`: flows move between two instances of an NF. They change no plan, so several may run. */
@Injectable()
export class FlowMigrations implements FlowMover, OnApplicationBootstrap, OnModuleDestroy {
  private readonly runs = new Map<string, Run>();
  /** By operation, from before it is recorded until it is over. */
  private readonly moves = new Map<string, FlowMigration>();
  private closing = false;

  constructor(
    @Inject(DEPLOYMENT_VIEW) private readonly view: DeploymentView,
    @Inject(FLEET) private readonly fleet: NodeFleet,
    @Inject(DESCRIPTORS) private readonly catalogue: NfDescriptors,
    @Inject(OPERATIONS) private readonly operations: OperationLog,
    @Inject(COLLECTIONS) private readonly collections: Collections,
    @Inject(EVENT_LOG) private readonly events: EventLog,
  ) {}

  /**
   * Those that the last server did not finish begin anew: copies are idempotent, and what was steered or removed from where it was
   * is counted on.
   */
  async onApplicationBootstrap(): Promise<void> {
    for (const operation of await this.operations.list())
      if (operation.kind === 'migrate' && !isOver(operation)) this.run(operation);
  }

  /** They stay PROCESSING, for the next server. */
  async onModuleDestroy(): Promise<void> {
    this.closing = true;
    for (const { cancel } of this.runs.values()) cancel.abort(new Error('the server ends'));
    await Promise.all([...this.runs.values()].map(({ done }) => done));
  }

  /** An operation with this id that there is already goes on as it is. Throws 404, 409 and 422. */
  async begin(from: string, request: MigrateRequest, by: string, id = newId('op')): Promise<Operation> {
    const known = this.operations.find(id) ?? (await this.operations.get(id));
    if (known) return known;
    const { chain_id } = this.checked(from, request);
    const now = Date.now();
    const migration: FlowMigration = { from, ...request, ...NOTHING_MOVED };
    const operation: Operation = {
      id,
      project: PROJECT,
      kind: 'migrate',
      state: 'PROCESSING',
      subject: chain_id,
      plan_id: null,
      request: RequestedChange.parse({}),
      chains: [],
      drivers: [],
      set_aside: null,
      by,
      cancelled_by: null,
      migration,
      steps: stepsOf(migration),
      error: null,
      started_ms: now,
      updated_ms: now,
      first_packet_ms: null,
    };
    this.moves.set(operation.id, migration);
    try {
      await this.put(operation, {
        type: 'operation.started',
        subject: operation.id,
        message: `Move of flows from ${from} to ${request.to}`,
        actor: by,
        data: { chain_id, plan_id: null, chains: [] },
      });
    } catch (error) {
      this.moves.delete(operation.id);
      throw error;
    }
    this.run(operation);
    return operation;
  }

  /** Throws 404, 409, 422 and 502. */
  async preview(from: string, request: MigrateRequest): Promise<MigrationPreview> {
    this.checked(from, request);
    const { signal } = new AbortController();
    const move = { from, ...request, ...NOTHING_MOVED };
    return countFlows(this.ends(move, signal), request.flows, request.steer ? this.steering(move, signal) : null);
  }

  /** Null: it is no such operation. Throws 409 if it is over. */
  async cancel(id: string, by: string): Promise<Operation | null> {
    const operation = this.operations.find(id);
    if (operation?.kind !== 'migrate') return null;
    const run = this.runs.get(id);
    if (!run) throw conflict(`Only an operation in PROCESSING can be cancelled; this one is ${operation.state}.`);
    run.by = by;
    run.cancel.abort(new Error(`Cancelled by ${by}`));
    await run.done;
    return (await this.operations.get(id))!;
  }

  private checked(from: string, { to, flows, steer }: MigrateRequest) {
    const source = this.instance(from);
    if (!source) throw notFound('NF instance', from);
    const target = this.instance(to);
    const refuse = (pointer: string, detail: string) => new ProblemError(422, detail, [{ pointer, detail }]);
    if (!target) throw refuse('/to', `there is no NF instance "${to}"`);
    if (to === from) throw refuse('/to', 'must be another instance');
    if (target.nf !== source.nf) throw refuse('/to', `is of NF ${target.nf}, not ${source.nf}`);
    for (const { id, driver } of [source, target])
      if (driver !== 'engine' && driver !== 'container')
        throw conflict(`${id} runs by driver ${driver}, whose state moves only as a whole, with its plan.`);
    const descriptor = this.catalogue.find(source.nf)!;
    if (unmodifiedOf(descriptor)) throw conflict(`${source.nf} is an unmodified program, whose state cannot be moved.`);
    const { state } = descriptor;
    if (state.kind !== 'flow') throw conflict(`${source.nf} keeps no state by flow.`);
    const unknown = unknownField(flows, state.key);
    if (unknown) throw refuse(`/flows${unknown.path}`, `flows of ${source.nf} are not known by ${unknown.field}`);
    const steering = steer ? this.steeringOf({ from, to, flows }) : null;
    if (typeof steering === 'string')
      throw conflict(`${steering} To copy their state alone, leave their packets where they go (steer: false).`, [
        { pointer: '/steer', detail: 'their packets cannot be sent to the other instance' },
      ]);
    for (const [id, other] of this.moves)
      if ([other.from, other.to].some((end) => end === from || end === to))
        throw conflict(`Operation ${id} moves flows of ${other.from} to ${other.to} now.`);
    return source;
  }

  private steeringOf(move: Pick<FlowMigration, 'from' | 'to' | 'flows'>): Steering | string {
    const nf = this.instance(move.from)?.nf;
    const descriptor = nf === undefined ? undefined : this.catalogue.find(nf);
    if (!descriptor || !this.view.plan) return `${move.from} does not run any more.`;
    return steeringBetween(this.view.plan, descriptor, move);
  }

  private instance(id: string) {
    return nfInstances(this.view.plan?.graph).find((each) => each.id === id);
  }

  private run(operation: Operation): void {
    const run: Run = { cancel: new AbortController(), by: null, done: Promise.resolve() };
    this.runs.set(operation.id, run);
    this.moves.set(operation.id, operation.migration!);
    run.done = this.carryOut(operation, run)
      .catch(() => undefined)
      .finally(() => {
        this.runs.delete(operation.id);
        this.moves.delete(operation.id);
      });
  }

  private async carryOut(operation: Operation, run: Run): Promise<void> {
    const migration = operation.migration!;
    const { signal } = run.cancel;
    const tookMs = () => Math.max(1, Date.now() - operation.started_ms);
    const doubts = new MoveDoubts(operation, PACE.nowMs);
    let latest = operation;
    /** What attempts before this one have done. */
    let before: MoveCounts = migration;
    let recordedMs = Number.NEGATIVE_INFINITY;
    let forwardMs = performance.now();
    let failures = 0;
    const progress = async (step: MoveStep, counts: MoveCounts) => {
      const nowMs = performance.now();
      const reached = afterAttempts(before, counts);
      if (flowsDone(reached) > flowsDone(latest.migration!)) {
        forwardMs = nowMs;
        failures = 0;
      }
      const changed = latest.steps.find(({ kind }) => kind === step)?.state !== 'running';
      latest = {
        ...latest,
        migration: { ...migration, ...reached, ...(doubts.latest && { at_least: true }) },
        steps: atStep(latest.steps, step),
        updated_ms: Date.now(),
      };
      signal.throwIfAborted();
      if (!changed && nowMs - recordedMs < RECORD_MS) return;
      recordedMs = nowMs;
      await this.put(latest);
    };
    let moved: Awaited<ReturnType<typeof moveFlows>> | null = null;
    while (!moved) {
      try {
        const steering = migration.steer ? this.steering(migration, signal, doubts) : null;
        moved = await moveFlows(this.ends(migration, signal, doubts), migration, steering, PACE, progress);
      } catch (error) {
        if (this.closing) return;
        const why = (error as Error).message;
        before = latest.migration!;
        failures++;
        if (signal.aborted) return await this.fail(latest, 'ROLLED_BACK', why, run.by, doubts);
        if (
          (error instanceof NotSteered && !doubts.isOpen) ||
          doubts.isHopeless ||
          (failures >= ATTEMPTS && performance.now() - forwardMs > PATIENCE_MS) ||
          !this.instance(migration.from) ||
          !this.instance(migration.to)
        )
          return await this.fail(latest, 'FAILED', why, null, doubts);
        await sleep(RETRY_MS, undefined, { signal }).catch(() => undefined);
      }
    }
    await this.end(latest, afterAttempts(before, moved.counts), moved.in_use, tookMs(), doubts);
  }

  private ends({ from, to }: FlowMigration, signal: AbortSignal, doubts?: MoveDoubts): FlowEnds {
    const call = (id: string, method: CallMethod, params: Record<string, unknown>) => {
      const instance = this.instance(id);
      if (!instance) throw new Error(`${id} does not run any more`);
      signal.throwIfAborted();
      const answer = this.fleet.call(instance.server, method, id, params, signal);
      const step = DOUBTFUL[method];
      return step && doubts ? doubts.watch(step, instance.server, answer) : answer;
    };
    return {
      export: async (wanted) => FlowExport.parse(await call(from, 'export_flows', wanted)),
      import: async (state) => FlowImport.parse(await call(to, 'import_state', { state, renew: true })),
      release: async (wanted) => FlowRelease.parse(await call(from, 'release_flows', wanted)),
    };
  }

  /** Throws `NotSteered`. */
  private steering(migration: FlowMigration, signal: AbortSignal, doubts?: MoveDoubts): FlowSteering {
    const found = this.steeringOf(migration);
    if (typeof found === 'string') throw new NotSteered(found);
    const call = (
      { server, instance_id, from, to }: SteeringPoint,
      method: 'hold_flows' | 'end_hold',
      params: object,
    ) => this.fleet.call(server, method, instance_id, { from, to, ...params });
    const splits = found.points.map(
      (point): FlowSplit => ({
        hold: async (flows) => {
          signal.throwIfAborted();
          await call(point, 'hold_flows', { flows, hold_ms: HOLD_MS });
        },
        end: async (steer) => {
          const answer = call(point, 'end_hold', { steer });
          return FlowHoldEnd.parse(
            await (steer && doubts ? doubts.watch('steer-flows', point.server, answer) : answer),
          );
        },
      }),
    );
    return { splits, idle_ms: found.idle_timeout_s * 1000 };
  }

  private async end(
    operation: Operation,
    counts: MoveCounts,
    inUse: number,
    ms: number,
    { latest: doubt }: MoveDoubts,
  ): Promise<void> {
    const migration = { ...operation.migration!, ...counts, ...(doubt && { at_least: true }) };
    const { from, to, steer, release, flows, copied, renewed, bytes, steered, released, left_out } = migration;
    const trouble = [
      ...(left_out > 0 ? [`${to} had no room for ${left_out} flows, which stay in ${from}`] : []),
      ...(inUse > 0 ? [`packets of ${inUse} flows still come to ${from}, which keeps them`] : []),
    ].join('; ');
    const now = Date.now();
    const over: Operation = {
      ...operation,
      migration,
      state: trouble ? 'PARTIALLY_COMPLETED' : 'COMPLETED',
      error: trouble ? { detail: trouble, errors: [] } : null,
      steps: ended(operation.steps, 'done', now),
      updated_ms: now,
    };
    const about = { subject: over.id, actor: over.by, data: { chain_id: over.subject, plan_id: null } };
    const atLeast = doubt ? 'at least ' : '';
    const took = `Move of ${atLeast}${copied} flows took ${ms.toFixed(0)} ms`;
    await this.put(
      over,
      {
        type: 'instance.migrated',
        subject: to,
        message: `${from} to ${to}: ${atLeast}${copied} flows copied${steer ? `, ${atLeast}${steered} steered` : ''}${release ? `, ${atLeast}${released} removed from ${from}` : ''} in ${ms.toFixed(0)} ms`,
        data: {
          from,
          to,
          when: 'asked',
          entries: copied + renewed,
          ms,
          entries_per_s: Math.round((copied + renewed) / (ms / 1000)),
          flows,
          bytes,
          ...(steer && { steered }),
          released,
        },
      },
      trouble
        ? { ...about, type: 'operation.partially-completed', message: `${took}; ${trouble}` }
        : { ...about, type: 'operation.completed', message: took },
    );
  }

  private async fail(
    operation: Operation,
    state: 'FAILED' | 'ROLLED_BACK',
    why: string,
    by: string | null,
    { latest: doubt, isDecisive }: MoveDoubts,
  ): Promise<void> {
    const { from, to, steered, released } = operation.migration!;
    const left = whatIsLeft(operation.migration!, doubt);
    const mayBeGone = released > 0 || isDecisive;
    const now = Date.now();
    const over: Operation = {
      ...operation,
      ...(doubt && { migration: { ...operation.migration!, at_least: true } }),
      state: steered > 0 || (mayBeGone && state === 'ROLLED_BACK') ? 'PARTIALLY_COMPLETED' : state,
      cancelled_by: by,
      error: { detail: why + left, errors: [] },
      steps: ended(operation.steps, 'failed', now),
      updated_ms: now,
    };
    const about = { subject: over.id, data: { chain_id: over.subject }, ...(by && { actor: by }) };
    await this.put(
      over,
      {
        type: 'instance.migration-failed',
        subject: to,
        message: `${from} to ${to}: ${why}`,
        data: { from, to, when: 'asked' },
      },
      state === 'FAILED'
        ? { ...about, type: 'operation.failed', message: why + left }
        : { ...about, type: 'operation.rolled-back', message: why + left },
    );
  }

  private put(operation: Operation, ...events: EventDraft[]): Promise<void> {
    return this.collections.commit((batch) => {
      this.operations.putIn(batch, operation);
      if (events.length > 0)
        batch.also((transaction) => {
          for (const event of events) this.events.appendIn(transaction, event);
        });
    });
  }
}
