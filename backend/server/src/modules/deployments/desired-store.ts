import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import type { Deployment, FabricSpec, NodeSpec, Operation, Plan } from '@orrery/contract';
import { isEmptyNode, type Phase } from '@orrery/planner/transition/phases';
import { Mutex } from '../../platform/mutex.js';
import { STORE, type Store, type Transaction } from '../../platform/redis.js';
import { KEYS } from '../../platform/redis-keys.js';
import type { DeploymentView, ExitView } from '../../ports/deployment-view.js';
import { EVENT_LOG, type EventDraft, type EventLog } from '../../ports/event-log.js';
import { OPERATIONS, type OperationLog } from '../../ports/operation-log.js';

/** What nodes and fabric were last told, and how far the newest change is. */
export interface Desired {
  /** The operation whose change this is; null before the first. */
  readonly operation_id: string | null;
  /** The plan that is followed; null: none. */
  readonly plan_id: string | null;
  readonly phase: Phase;
  /** Servers that must reach their generation before the phase is over. */
  readonly waiting_for: readonly string[];
  /** The newest generation that was given out. */
  readonly generation: number;
  readonly nodes: Readonly<Record<string, NodeSpec>>;
  readonly fabric: FabricSpec;
}

/** A plan that does not run any more is kept for so long. */
const KEEP_OLD_PLAN_S = 30 * 86_400;

const KNOWN_OPERATIONS = 100;

const NOTHING: Desired = {
  operation_id: null,
  plan_id: null,
  phase: 'settled',
  waiting_for: [],
  generation: 0,
  nodes: {},
  fabric: { generation: 0, rules: [] },
};

/** Holds desired state and deployments in memory as they are in Redis. */
@Injectable()
export class DesiredStore implements DeploymentView, OnModuleInit {
  desired: Desired = NOTHING;
  /** Accepted operations that are not over, the running one first. */
  queue: readonly Accepted[] = [];
  /** The newest operations, also those that are over. */
  private known = new Map<string, Operation>();
  plan: Plan | null = null;
  private entries = new Map<string, Deployment>();
  private exitViews: ReadonlyMap<string, ExitView> = new Map();
  private readonly mutex = new Mutex();
  /** A transaction was not answered: Redis may hold more than memory. */
  private unsure = false;
  private readonly listeners: (() => void)[] = [];

  constructor(
    @Inject(STORE) private readonly store: Store,
    @Inject(OPERATIONS) private readonly operations: OperationLog,
    @Inject(EVENT_LOG) private readonly events: EventLog,
  ) {}

  onModuleInit(): Promise<void> {
    return this.load();
  }

  /** Nothing that memory held before is kept: an operation may be over by what was not answered. */
  private async load(): Promise<void> {
    const desired = (await this.store.json<Desired>(KEYS.desired)) ?? NOTHING;
    const plan = desired.plan_id ? await this.store.json<Plan>(KEYS.plan(desired.plan_id)) : null;
    const queue = await this.readQueue();
    const stored = await this.store.hashValues<Deployment>(KEYS.deployments);
    const known = new Map(queue.map(({ operation }) => [operation.id, operation]));
    for (const { operation_id } of stored) {
      const operation = known.has(operation_id) ? null : await this.operations.get(operation_id);
      if (operation) known.set(operation_id, operation);
    }
    this.desired = desired;
    this.plan = plan;
    this.exitViews = exitsOf(desired);
    this.queue = queue;
    this.entries = new Map(stored.map((deployment) => [deployment.pipeline_id, deployment]));
    this.known = known;
  }

  get comingPlan(): Plan | null {
    return this.queue.at(-1)?.plan ?? this.plan;
  }

  deployments(): readonly Deployment[] {
    return [...this.entries.values()].sort((a, b) => (a.pipeline_id < b.pipeline_id ? -1 : 1));
  }

  deployment(pipelineId: string): Deployment | undefined {
    return this.entries.get(pipelineId);
  }

  serversInUse(): ReadonlySet<string> {
    const { nodes } = this.desired;
    return new Set(Object.keys(nodes).filter((name) => !isEmptyNode(nodes[name]!)));
  }

  hostsInUse(): ReadonlySet<string> {
    const fabrics = [this.desired.fabric, ...this.queue.map(({ plan }) => plan.fabric)];
    return new Set(fabrics.flatMap(({ rules }) => rules.flatMap(({ from_hosts }) => from_hosts)));
  }

  exits(): ReadonlyMap<string, ExitView> {
    return this.exitViews;
  }

  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }

  /** Stores a change in one transaction, one change at a time; memory follows when Redis has it. */
  commit(makeChange: () => DesiredChange | null): Promise<void> {
    return this.mutex.run(async () => {
      if (this.unsure) await this.reload();
      const change = makeChange();
      if (change) await this.write(change);
    });
  }

  /** Resolves when memory is as Redis, also where a transaction was not answered. */
  certain(): Promise<void> {
    return this.commit(() => null);
  }

  private async reload(): Promise<void> {
    await this.load();
    this.unsure = false;
    this.tell();
  }

  /** The reconciler hears of it, and makes certain for as long as it takes. */
  private doubt(): void {
    this.unsure = true;
    this.tell();
  }

  private tell(): void {
    for (const listener of this.listeners) listener();
  }

  private async write(change: DesiredChange): Promise<void> {
    const { desired, plan, deployments, operation, accept, over, events, writeIn } = change;
    await this.store
      .transact((transaction) => {
        if (desired) transaction.set(KEYS.desired, JSON.stringify(desired));
        if (plan && plan.id !== this.plan?.id) {
          transaction.persist(KEYS.plan(plan.id));
          if (this.plan) transaction.expire(KEYS.plan(this.plan.id), KEEP_OLD_PLAN_S);
        }
        if (accept) {
          transaction.rpush(KEYS.operationQueue, accept.operation.id);
          transaction.persist(KEYS.plan(accept.plan.id));
          this.operations.writeIn(transaction, accept.operation);
        }
        if (over) transaction.lrem(KEYS.operationQueue, 0, over);
        for (const [id, deployment] of deployments ?? []) {
          if (deployment) transaction.hset(KEYS.deployments, id, JSON.stringify(deployment));
          else transaction.hdel(KEYS.deployments, id);
        }
        if (operation) this.operations.writeIn(transaction, operation);
        for (const event of events ?? []) this.events.appendIn(transaction, event);
        writeIn?.(transaction);
      })
      .catch((error: unknown) => {
        this.doubt();
        throw error;
      });
    if (plan !== undefined) this.plan = plan;
    if (desired) {
      this.desired = desired;
      this.exitViews = exitsOf(desired);
    }
    for (const [id, deployment] of deployments ?? []) {
      if (deployment) this.entries.set(id, deployment);
      else this.entries.delete(id);
    }
    for (const each of [operation, accept?.operation]) if (each) this.remember(each);
    if (operation)
      this.queue = this.queue.map((each) => (each.operation.id === operation.id ? { ...each, operation } : each));
    if (accept) this.queue = [...this.queue, accept];
    if (over) this.queue = this.queue.filter((each) => each.operation.id !== over);
    this.tell();
  }

  operation(id: string): Operation | undefined {
    return this.known.get(id);
  }

  private remember(operation: Operation): void {
    this.known.delete(operation.id);
    this.known.set(operation.id, operation);
    const oldest = this.known.keys().next().value;
    if (this.known.size > KNOWN_OPERATIONS && oldest !== undefined) this.known.delete(oldest);
  }

  private async readQueue(): Promise<Accepted[]> {
    const queue: Accepted[] = [];
    for (const id of await this.store.redis.lrange(KEYS.operationQueue, 0, -1)) {
      const operation = await this.operations.get(id);
      const plan = operation?.plan_id ? await this.store.json<Plan>(KEYS.plan(operation.plan_id)) : null;
      if (!operation || !plan) continue;
      queue.push({ operation, plan });
    }
    return queue;
  }
}

export interface Accepted {
  readonly operation: Operation;
  readonly plan: Plan;
}

export interface DesiredChange {
  readonly desired?: Desired;
  /** Absent: as before. */
  readonly plan?: Plan | null;
  /** By pipeline; null takes the entry away. */
  readonly deployments?: ReadonlyMap<string, Deployment | null>;
  /** An operation as it is now. */
  readonly operation?: Operation;
  /** A new operation for the end of the queue. */
  readonly accept?: Accepted;
  /** Id of an operation that leaves the queue. */
  readonly over?: string;
  readonly events?: readonly EventDraft[];
  /** What belongs to others and must be stored with it or not at all. */
  readonly writeIn?: (transaction: Transaction) => void;
}

function exitsOf(desired: Desired): Map<string, ExitView> {
  const views = new Map<string, ExitView & { servers: string[] }>();
  for (const [server, spec] of Object.entries(desired.nodes))
    for (const { exit_id, pipeline_id, direction } of spec.exits) {
      const view = views.get(exit_id);
      if (view) view.servers.push(server);
      else views.set(exit_id, { pipeline_id, direction, servers: [server] });
    }
  return views;
}
