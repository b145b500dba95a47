import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import {
  Deployment,
  type DriverChange,
  type EventDraft,
  type FabricSpec,
  type NodeSpec,
  type Operation,
  type Plan,
} from '@orrery/contract';
import { isEmptyNode, type Phase } from '@orrery/planner';
import { type Batch, COLLECTIONS, type Collections } from '../../platform/durable-collection/collections.js';
import type { DurableCollection } from '../../platform/durable-collection/durable-collection.js';
import { Mutex } from '../../platform/mutex.js';
import { conflict } from '../../platform/problem.js';
import { STORE, type Store, type Transaction } from '../../platform/redis.js';
import { KEYS } from '../../platform/redis-keys.js';
import { unreadableState } from '../../platform/state-version.js';
import type { DeploymentView, ExitView } from '../../ports/deployment-view.js';
import { EVENT_LOG, type EventLog } from '../../ports/event-log.js';
import { OPERATIONS, type OperationLog } from '../../ports/operation-log.js';
import { PLAN_SHELVES, type PlanShelves } from '../../ports/plan-shelves.js';
import { afterOperation, type RunningVersions } from './versions.js';

/** What runs by the latest operation that has come about: what one that ends without effect goes back to. */
export interface InForce {
  /** Null: nothing has been deployed yet. */
  readonly plan_id: string | null;
  readonly chains: RunningVersions;
}

/** Why the change of the operation is being taken out of the desired state, and how the operation ends then. */
export interface Retreat {
  readonly ends: 'ROLLED_BACK' | 'FAILED' | 'set-aside';
  readonly why: string;
  /** Nodes that must be back before an operation that is set aside is tried again. */
  readonly waiting_for: readonly string[];
}

/** Desired state last sent to nodes and fabric, and the progress of the latest change. */
export interface Desired {
  /** The operation that made the latest change; null before the first, and when its change has been taken back. */
  readonly operation_id: string | null;
  readonly in_force: InForce;
  /** Null: the operation goes forward. */
  readonly retreat: Retreat | null;
  /** The plan being applied; null: none. */
  readonly plan_id: string | null;
  readonly phase: Phase;
  /** Servers that must reach their generation before the phase ends. */
  readonly waiting_for: readonly string[];
  /** The latest generation that was assigned. */
  readonly generation: number;
  readonly nodes: Readonly<Record<string, NodeSpec>>;
  readonly fabric: FabricSpec;
  /** Drivers of switches that the operation has changed, or that are being changed back; absent: none. */
  readonly drivers?: readonly DriverChange[];
}

/** Of chains. */
const MAX_DEPLOYMENTS = 1000;

const NOTHING: Desired = {
  operation_id: null,
  in_force: { plan_id: null, chains: {} },
  retreat: null,
  plan_id: null,
  phase: 'settled',
  waiting_for: [],
  generation: 0,
  nodes: {},
  fabric: { generation: 0, rules: [] },
};

/** In-memory copy of desired state and deployments in Redis. */
@Injectable()
export class DesiredStore implements DeploymentView, OnModuleInit {
  desired: Desired = NOTHING;
  /** Accepted operations that have not finished, the running one first. */
  queue: readonly Accepted[] = [];
  plan: Plan | null = null;
  /** The plan of `desired.in_force`. */
  planInForce: Plan | null = null;
  private readonly entries: DurableCollection<Deployment>;
  private exitViews: ReadonlyMap<string, ExitView> = new Map();
  private readonly mutex = new Mutex();
  /** A transaction got no reply: Redis may be ahead of memory. */
  private unsure = false;
  private readonly listeners: (() => void)[] = [];

  constructor(
    @Inject(STORE) private readonly store: Store,
    @Inject(COLLECTIONS) private readonly collections: Collections,
    @Inject(OPERATIONS) private readonly operations: OperationLog,
    @Inject(EVENT_LOG) private readonly events: EventLog,
    @Inject(PLAN_SHELVES) private readonly shelves: PlanShelves,
  ) {
    this.entries = collections.open({
      key: KEYS.deployments,
      noun: 'deployment',
      schema: Deployment,
      version: 1,
      idOf: ({ chain_id }) => chain_id,
      bound: { most: MAX_DEPLOYMENTS, policy: 'refuse' },
    });
  }

  onModuleInit(): Promise<void> {
    return this.load();
  }

  /**
   * Replaces all memory: the transaction without a reply may have finished an operation. Throws if an accepted operation or
   * its plan cannot be read: it would never end.
   */
  private async load(): Promise<void> {
    await this.collections.certain();
    const desired = (await this.store.json<Desired>(KEYS.desired)) ?? NOTHING;
    const plan = desired.plan_id ? await this.storedPlan(desired.plan_id) : null;
    const { plan_id: inForce } = desired.in_force;
    const planInForce = inForce === desired.plan_id ? plan : inForce ? await this.storedPlan(inForce) : null;
    const queue = await this.readQueue();
    this.desired = desired;
    this.plan = plan;
    this.planInForce = planInForce;
    this.exitViews = exitsOf(desired);
    this.queue = queue;
  }

  get isGoingBack(): boolean {
    return this.desired.retreat !== null;
  }

  get comingPlan(): Plan | null {
    return this.coming.at(-1)?.plan ?? this.planInForce;
  }

  /** Accepted operations that are to take effect: not those that are set aside or being taken back. */
  get coming(): readonly Accepted[] {
    const { operation_id, retreat } = this.desired;
    return this.queue.filter(
      ({ operation: { id, set_aside } }) => set_aside === null && !(retreat !== null && id === operation_id),
    );
  }

  /** Versions once the coming operations have come about. */
  get comingVersions(): RunningVersions {
    return this.coming.reduce(
      (versions, { operation }) => afterOperation(versions, operation),
      this.desired.in_force.chains,
    );
  }

  /** What the coming operations change of the drivers, in their order. */
  get comingDrivers(): readonly DriverChange[] {
    return this.coming.flatMap(({ operation }) => operation.drivers);
  }

  deployments(): readonly Deployment[] {
    return this.entries.all();
  }

  deployment(chainId: string): Deployment | undefined {
    return this.entries.find(chainId);
  }

  isGuarded(chainId: string): boolean {
    return this.plansInUse().some(({ guarded = [] }) => guarded.some(({ chain_id }) => chain_id === chainId));
  }

  serversInUse(): ReadonlySet<string> {
    const desired = [this.desired.nodes, ...this.plansInUse().map(({ nodes }) => nodes)];
    return new Set(desired.flatMap((nodes) => Object.keys(nodes).filter((name) => !isEmptyNode(nodes[name]!))));
  }

  hostsInUse(): ReadonlySet<string> {
    const fabrics = [this.desired.fabric, ...this.plansInUse().map(({ fabric }) => fabric)];
    return new Set(fabrics.flatMap(({ rules }) => rules.flatMap(({ from_hosts }) => from_hosts)));
  }

  private plansInUse(): Plan[] {
    return [...(this.planInForce ? [this.planInForce] : []), ...this.queue.map(({ plan }) => plan)];
  }

  exits(): ReadonlyMap<string, ExitView> {
    return this.exitViews;
  }

  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }

  /**
   * Stores a change in one transaction, one change at a time; memory is updated once Redis has it. Throws 409 where a plan
   * that is accepted is not stored any more.
   */
  commit(makeChange: () => DesiredChange | null): Promise<void> {
    return this.mutex.run(async () => {
      if (this.unsure) await this.reload();
      const change = makeChange();
      if (change) await this.write(change);
    });
  }

  /** Resolves when memory matches Redis, including after a transaction without a reply. */
  certain(): Promise<void> {
    return this.commit(() => null);
  }

  private async reload(): Promise<void> {
    await this.load();
    this.unsure = false;
    this.tell();
  }

  /** Wakes the reconciler, which re-reads Redis, with retries. */
  private doubt(): void {
    this.unsure = true;
    this.tell();
  }

  private tell(): void {
    for (const listener of this.listeners) listener();
  }

  private async write(change: DesiredChange): Promise<void> {
    const { deployments, operations = [], accept, events, putIn } = change;
    const { before, after } = this.plansOf(change);
    const fresh = [...after].filter((id) => !before.has(id));
    const [gone] = await this.shelves.claim(fresh);
    if (gone !== undefined)
      throw conflict(`Plan ${gone} is not kept any more: newer ones have taken its place. Plan again.`);
    await this.collections
      .commit((batch) => {
        for (const [id, deployment] of deployments ?? []) {
          if (deployment) batch.put(this.entries, deployment);
          else batch.remove(this.entries, id);
        }
        for (const each of [...operations, ...(accept ? [accept.operation] : [])]) this.operations.putIn(batch, each);
        batch.also((transaction) => {
          this.writeIn(transaction, change);
          for (const event of events ?? []) this.events.appendIn(transaction, event);
        });
        putIn?.(batch);
        batch.onStored(() => this.take(change));
      })
      .catch((error: unknown) => {
        this.doubt();
        // Where that fails, too, they expire.
        this.shelves.putBack(fresh).catch(() => undefined);
        throw error;
      });
    this.tell();
  }

  private writeIn(transaction: Transaction, change: DesiredChange): void {
    const { desired, accept, over = [] } = change;
    if (desired) transaction.set(KEYS.desired, JSON.stringify(desired));
    if (accept) transaction.rpush(KEYS.operationQueue, accept.operation.id);
    for (const { id } of over) transaction.lrem(KEYS.operationQueue, 0, id);
    const { before, after } = this.plansOf(change);
    for (const id of after) this.shelves.useIn(transaction, id);
    for (const id of before) if (!after.has(id)) this.shelves.retireIn(transaction, id);
  }

  /** Ids of the plans that must not expire. */
  private plansOf(change: DesiredChange): Readonly<Record<'before' | 'after', ReadonlySet<string>>> {
    const { desired, plan } = change;
    return {
      before: this.plansKept(this.queue),
      after: this.plansKept(this.queueAfter(change), plan, desired && this.inForceAfter(desired)),
    };
  }

  /** Undefined: as they are. */
  private plansKept(
    queue: readonly Accepted[],
    plan: Plan | null = this.plan,
    inForce: Plan | null = this.planInForce,
  ): Set<string> {
    return new Set([...queue.map((each) => each.plan), plan, inForce].flatMap((each) => each?.id ?? []));
  }

  private take(change: DesiredChange): void {
    const { desired, plan, operations = [] } = change;
    if (desired) {
      this.planInForce = this.inForceAfter(desired);
      this.desired = desired;
      this.exitViews = exitsOf(desired);
    }
    if (plan !== undefined) this.plan = plan;
    const updated = new Map(operations.map((operation) => [operation.id, operation]));
    this.queue = this.queueAfter(change).map((each) => ({
      ...each,
      operation: updated.get(each.operation.id) ?? each.operation,
    }));
  }

  private inForceAfter({ in_force: { plan_id } }: Desired): Plan | null {
    const known = [this.planInForce, this.plan, ...this.queue.map(({ plan }) => plan)];
    return known.find((plan) => plan?.id === plan_id) ?? null;
  }

  private queueAfter({
    accept,
    replanned,
    over = [],
  }: Pick<DesiredChange, 'accept' | 'replanned' | 'over'>): Accepted[] {
    const left = this.queue.filter(({ operation }) => !over.some(({ id }) => id === operation.id));
    const planned = left.map((each) => (each.operation.id === replanned?.operation.id ? replanned : each));
    return accept ? [...planned, accept] : planned;
  }

  operation(id: string): Operation | undefined {
    return this.operations.find(id);
  }

  private async readQueue(): Promise<Accepted[]> {
    const queue: Accepted[] = [];
    for (const id of await this.store.redis.lrange(KEYS.operationQueue, 0, -1)) {
      const operation = this.operations.find(id);
      if (!operation?.plan_id) throw unreadableState(`The accepted operation ${id}`, 'it or its plan id is missing');
      queue.push({ operation, plan: await this.storedPlan(operation.plan_id) });
    }
    return queue;
  }

  private async storedPlan(id: string): Promise<Plan> {
    const text = await this.store.redis.get(KEYS.plan(id));
    if (text === null) throw unreadableState(`The accepted plan ${id}`, 'it is missing');
    try {
      return JSON.parse(text) as Plan;
    } catch (error) {
      throw unreadableState(`The accepted plan ${id}`, (error as Error).message);
    }
  }
}

export interface Accepted {
  readonly operation: Operation;
  readonly plan: Plan;
}

export interface DesiredChange {
  readonly desired?: Desired;
  /** Absent: unchanged. */
  readonly plan?: Plan | null;
  /** By chain; null deletes the entry. */
  readonly deployments?: ReadonlyMap<string, Deployment | null>;
  /** Updated operations. */
  readonly operations?: readonly Operation[];
  /** A new operation for the end of the queue. */
  readonly accept?: Accepted;
  /** An operation of the queue with another plan. */
  readonly replanned?: Accepted;
  /** Operations that leave the queue. */
  readonly over?: readonly Pick<Operation, 'id'>[];
  readonly events?: readonly EventDraft[];
  /** Writes of other modules that belong in the same transaction. */
  readonly putIn?: (batch: Batch) => void;
}

function exitsOf(desired: Desired): Map<string, ExitView> {
  const views = new Map<string, ExitView & { servers: string[] }>();
  for (const [server, spec] of Object.entries(desired.nodes))
    for (const { exit_id, chain_id, direction } of spec.exits) {
      const view = views.get(exit_id);
      if (view) view.servers.push(server);
      else views.set(exit_id, { chain_id, direction, servers: [server] });
    }
  return views;
}
