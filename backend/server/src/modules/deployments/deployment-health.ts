import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import type { Deployment } from '@orrery/contract';
import { CONFIG, type Config } from '../../platform/config.js';
import { LOG, type Log } from '../../platform/log.js';
import type { EventDraft } from '../../ports/event-log.js';
import { FLEET, type NodeFleet } from '../../ports/node-fleet.js';
import { TWIN, type TwinView } from '../../ports/twin-view.js';
import { DesiredStore } from './desired-store.js';

/** Says when a running pipeline suffers from an agent, engine, instance or switch that is not well, and when it is well again. */
@Injectable()
export class DeploymentHealth implements OnApplicationBootstrap {
  private checking = false;
  private again = false;
  /** Agents need a moment to come back after a start of the server. */
  private judging = false;

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
      this.judging = true;
      this.check();
    }, this.config.timing.agentStaleMs).unref();
  }

  private check(): void {
    if (this.checking) {
      this.again = true;
      return;
    }
    if (!this.judging || this.differences().entries.size === 0) return;
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
      if (trouble.length > 0 === (state === 'degraded')) continue;
      const degraded = trouble.length > 0;
      entries.set(id, { ...deployment, state: degraded ? 'degraded' : 'running', since_ms: Date.now() });
      events.push({
        type: degraded ? 'deployment.degraded' : 'deployment.recovered',
        severity: degraded ? 'error' : 'info',
        subject: id,
        message: degraded ? trouble.join('; ') : 'Every part of it is well again',
        data: { trouble },
      });
    }
    return { entries, events };
  }

  private troubleOf(pipelineId: string): string[] {
    const trouble: string[] = [];
    const { fabricError } = this.twin;
    if (fabricError !== null) trouble.push(`fabric: ${fabricError}`);
    for (const [node, spec] of Object.entries(this.state.desired.nodes)) {
      const instances = spec.instances.filter((instance) => instance.pipeline_id === pipelineId);
      if (instances.length === 0 && !spec.exits.some((exit) => exit.pipeline_id === pipelineId)) continue;
      const observed = this.fleet.observed(node);
      const isOff = !this.twin.enabled && this.fleet.originOf(node) === 'twin';
      if (isOff) trouble.push(`${node}: the twin is off`);
      else if (!this.fleet.isConnected(node)) trouble.push(`${node}: its agent is not connected`);
      else if (!observed) continue;
      else if (observed.state === 'failed') trouble.push(`${node}: ${observed.error ?? 'failed'}`);
      else if (observed.engine === 'failed') trouble.push(`${node}: its engine failed`);
      else {
        const ids = new Set(instances.map(({ id }) => id));
        for (const { id, state, detail } of observed.instances)
          if (ids.has(id) && state === 'failed') trouble.push(`${id}: ${detail ?? 'failed'}`);
      }
    }
    return trouble;
  }
}
