import { setTimeout as sleep } from 'node:timers/promises';
import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import type { Deployment, NodeSpec, Operation } from '@orrery/contract';
import { CONFIG, type Config } from '../../platform/config.js';
import { LOG, type Log } from '../../platform/log.js';
import type { EventDraft } from '../../ports/event-log.js';
import { FLEET, type NodeFleet } from '../../ports/node-fleet.js';
import { TWIN, type TwinView } from '../../ports/twin-view.js';
import { DesiredStore } from './desired-store.js';

/** What the store did not take is told again after so long. */
const RETRY_MS = 1000;

interface Trouble {
  readonly what: string;
  /** Belongs to a change under way or to the start of the server: what runs is not degraded by it, but does not recover either. */
  readonly isExpected: boolean;
}

/**
 * Says when a pipeline that runs suffers from an agent, engine, instance or switch that is not well, and when it is well
 * again: each of its instances runs and its servers have reached what they are told.
 */
@Injectable()
export class DeploymentHealth implements OnApplicationBootstrap, OnApplicationShutdown {
  private telling = false;
  private again = false;
  private readonly stopping = new AbortController();
  /** Agents and twin need a moment to come back after a start of the server. */
  private isStarting = true;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    @Inject(LOG) private readonly log: Log,
    @Inject(DesiredStore) private readonly state: DesiredStore,
    @Inject(FLEET) private readonly fleet: NodeFleet,
    @Inject(TWIN) private readonly twin: TwinView,
  ) {}

  onApplicationBootstrap(): void {
    this.fleet.onChange(() => this.check());
    this.state.onChange(() => this.check());
    this.twin.onChange(() => this.check());
    setTimeout(() => {
      this.isStarting = false;
      this.check();
    }, this.config.timing.agentStaleMs).unref();
  }

  onApplicationShutdown(): void {
    this.stopping.abort();
  }

  private check(): void {
    this.again = true;
    if (!this.telling) void this.tell();
  }

  /** Tells what is different until nothing is, and looks again when something changed meanwhile. */
  private async tell(): Promise<void> {
    const { signal } = this.stopping;
    this.telling = true;
    try {
      while (this.again && !signal.aborted) {
        this.again = false;
        if (this.differences().entries.size === 0 || (await this.commit())) continue;
        this.again = true;
        await sleep(RETRY_MS, undefined, { signal, ref: false }).catch(() => undefined);
      }
    } finally {
      this.telling = false;
    }
  }

  /** Whether the store took what is different. */
  private async commit(): Promise<boolean> {
    try {
      await this.state.commit(() => {
        const { entries, events } = this.differences();
        return entries.size > 0 ? { deployments: entries, events } : null;
      });
      return true;
    } catch (error) {
      this.log.warn({ error: (error as Error).message }, 'deployment state is told later');
      return false;
    }
  }

  private differences(): { entries: Map<string, Deployment>; events: EventDraft[] } {
    const entries = new Map<string, Deployment>();
    const events: EventDraft[] = [];
    for (const deployment of this.state.deployments()) {
      const { pipeline_id: id, state } = deployment;
      if (state !== 'running' && state !== 'degraded') continue;
      const trouble = this.troubleOf(id);
      const unexpected = trouble.filter(({ isExpected }) => !isExpected).map(({ what }) => what);
      const degraded = unexpected.length > 0;
      if (state === 'running' ? !degraded : trouble.length > 0) continue;
      entries.set(id, { ...deployment, state: degraded ? 'degraded' : 'running', since_ms: Date.now() });
      events.push({
        type: degraded ? 'deployment.degraded' : 'deployment.recovered',
        severity: degraded ? 'error' : 'info',
        subject: id,
        message: degraded ? unexpected.join('; ') : 'Every part of it is well again',
        data: { trouble: unexpected },
      });
    }
    return { entries, events };
  }

  private troubleOf(pipelineId: string): Trouble[] {
    const { fabricError } = this.twin;
    const fabric = fabricError === null ? [] : [{ what: `fabric: ${fabricError}`, isExpected: this.isStarting }];
    const nodes = Object.entries(this.state.desired.nodes);
    return [...fabric, ...nodes.flatMap(([node, spec]) => this.troubleAt(node, spec, pipelineId))];
  }

  private troubleAt(node: string, spec: NodeSpec, pipelineId: string): Trouble[] {
    const instances = spec.instances.filter((instance) => instance.pipeline_id === pipelineId);
    if (instances.length === 0 && !spec.exits.some((exit) => exit.pipeline_id === pipelineId)) return [];
    const isOff = !this.twin.enabled && this.fleet.originOf(node) === 'twin';
    if (isOff) return [{ what: `${node}: the twin is off`, isExpected: this.isStarting }];
    const observed = this.fleet.isConnected(node) ? this.fleet.observed(node) : null;
    if (!observed) return [{ what: `${node}: its agent is not connected`, isExpected: this.isStarting }];
    if (observed.state === 'failed') return [{ what: `${node}: ${observed.error ?? 'failed'}`, isExpected: false }];
    if (observed.engine === 'failed') return [{ what: `${node}: its engine failed`, isExpected: false }];
    const change = this.changeOf(node);
    const seen = new Map(observed.instances.map((instance) => [instance.id, instance]));
    const idle = instances.flatMap(({ id }): Trouble[] => {
      const { state, detail } = seen.get(id) ?? { state: 'pending', detail: null };
      if (state === 'running') return [];
      return [{ what: `${id}: ${detail ?? state}`, isExpected: change?.state === 'PROCESSING' && state !== 'failed' }];
    });
    const isReached = observed.state === 'converged' && observed.generation === spec.generation;
    if (idle.length > 0 || isReached) return idle;
    return [{ what: `${node}: has not reached generation ${spec.generation}`, isExpected: change !== null }];
  }

  /** The operation that waits for the server to become what it was told; null: none. */
  private changeOf(node: string): Operation | null {
    const { operation_id, waiting_for } = this.state.desired;
    const operation = this.state.queue[0]?.operation;
    return operation && operation.id === operation_id && waiting_for.includes(node) ? operation : null;
  }
}
