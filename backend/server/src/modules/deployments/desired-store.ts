import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import type { Deployment, FabricSpec, NodeSpec, Plan } from '@orrery/contract';
import { STORE, type Store, type Transaction } from '../../platform/redis.js';
import { KEYS } from '../../platform/redis-keys.js';
import type { DeploymentView, ExitView } from '../../ports/deployment-view.js';
import { isEmptyNode, type Phase } from './transition.js';

/** What nodes and fabric were last told, and how far the newest change is. */
export interface Desired {
  /** The operation whose change this is; null before the first. */
  readonly operation_id: string | null;
  /** The plan that is followed; null: none. */
  readonly plan_id: string | null;
  readonly phase: Phase;
  /** The newest generation that was given out. */
  readonly generation: number;
  readonly nodes: Readonly<Record<string, NodeSpec>>;
  readonly fabric: FabricSpec;
}

const NOTHING: Desired = {
  operation_id: null,
  plan_id: null,
  phase: 'settled',
  generation: 0,
  nodes: {},
  fabric: { generation: 0, rules: [] },
};

/** Holds desired state and deployments in memory as they are in Redis. */
@Injectable()
export class DesiredStore implements DeploymentView, OnModuleInit {
  desired: Desired = NOTHING;
  plan: Plan | null = null;
  private entries = new Map<string, Deployment>();
  private exitViews: ReadonlyMap<string, ExitView> = new Map();
  private readonly listeners: (() => void)[] = [];

  constructor(@Inject(STORE) private readonly store: Store) {}

  async onModuleInit(): Promise<void> {
    this.desired = (await this.store.json<Desired>(KEYS.desired)) ?? NOTHING;
    this.plan = this.desired.plan_id ? await this.store.json<Plan>(KEYS.plan(this.desired.plan_id)) : null;
    this.exitViews = exitsOf(this.desired);
    const stored = await this.store.hashValues<Deployment>(KEYS.deployments);
    this.entries = new Map(stored.map((deployment) => [deployment.pipeline_id, deployment]));
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

  exits(): ReadonlyMap<string, ExitView> {
    return this.exitViews;
  }

  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }

  /** Stores a change with whatever `also` adds to the transaction; memory follows when Redis has it. */
  async commit(change: DesiredChange, also: (transaction: Transaction) => void): Promise<void> {
    const { desired, plan, deployments } = change;
    await this.store.transact((transaction) => {
      if (desired) transaction.set(KEYS.desired, JSON.stringify(desired));
      if (plan) transaction.persist(KEYS.plan(plan.id));
      for (const [id, deployment] of deployments ?? []) {
        if (deployment) transaction.hset(KEYS.deployments, id, JSON.stringify(deployment));
        else transaction.hdel(KEYS.deployments, id);
      }
      also(transaction);
    });
    if (desired) {
      this.desired = desired;
      this.exitViews = exitsOf(desired);
    }
    if (plan !== undefined) this.plan = plan;
    for (const [id, deployment] of deployments ?? []) {
      if (deployment) this.entries.set(id, deployment);
      else this.entries.delete(id);
    }
    for (const listener of this.listeners) listener();
  }
}

export interface DesiredChange {
  readonly desired?: Desired;
  /** Absent: as before. */
  readonly plan?: Plan | null;
  /** By pipeline; null takes the entry away. */
  readonly deployments?: ReadonlyMap<string, Deployment | null>;
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
