import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import type { Deployment, NodeSpec, Operation } from '@orrery/contract';
import { CONFIG, type Config } from '../../platform/config.js';
import { LOG, type Log } from '../../platform/log.js';
import type { EventDraft } from '../../ports/event-log.js';
import { FLEET, type NodeFleet } from '../../ports/node-fleet.js';
import { TWIN, type TwinView } from '../../ports/twin-view.js';
import { DesiredStore } from './desired-store.js';

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
export class DeploymentHealth implements OnApplicationBootstrap {
  private checking = false;
  private again = false;
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

  private check(): void {
    if (this.checking) {
      this.again = true;
      return;
    }
    if (this.differences().entries.size === 0) return;
    this.checking = true;
    this.state
      .commit(() => {
        const { entries, events } = this.differences();
        return entries.size > 0 ? { deployments: entries, events } : null;
      })
      .catch((error: unknown) => {
        this.log.warn({ error: (error as Error).message }, 'deployment state is told later');
        this.again = true;
      })
      .finally(() => {
        this.checking = false;
        if (!this.again) return;
        this.again = false;
        setTimeout(() => this.check(), 50).unref();
      });
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
