import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { LOG, type Log } from '../../platform/log.js';
import { ProblemError } from '../../platform/problem.js';
import { DEPLOYMENT_VIEW, type DeploymentView } from '../../ports/deployment-view.js';
import { EVENT_SOURCE, type EventSource } from '../../ports/event-log.js';
import { PIPELINES, type PipelineStore } from '../../ports/pipeline-store.js';
import { Policies } from './policies.js';

/** Policies end with the chain for which they are, also where the server was away when it was deleted. */
@Injectable()
export class PolicySweeper implements OnApplicationBootstrap, OnApplicationShutdown {
  private sweeping: Promise<void> | null = null;
  private again = false;
  private endNews = () => {};

  constructor(
    @Inject(LOG) private readonly log: Log,
    @Inject(EVENT_SOURCE) private readonly events: EventSource,
    @Inject(PIPELINES) private readonly pipelines: PipelineStore,
    @Inject(DEPLOYMENT_VIEW) private readonly view: DeploymentView,
    @Inject(Policies) private readonly policies: Policies,
  ) {}

  onApplicationBootstrap(): void {
    this.endNews = this.events.onNews(() => this.look());
    this.look();
  }

  async onApplicationShutdown(): Promise<void> {
    this.endNews();
    this.again = false;
    await this.sweeping;
  }

  private look(): void {
    this.again = true;
    this.sweeping ??= this.sweep().finally(() => {
      this.sweeping = null;
    });
  }

  private async sweep(): Promise<void> {
    while (this.again) {
      this.again = false;
      try {
        for (const id of this.idle()) if (await this.isGone(id)) await this.policies.forget(id);
      } catch (error) {
        this.log.warn({ error: (error as Error).message }, 'policies of deleted chains are left until the next event');
      }
    }
  }

  /** Chains of policies that do not run: only they can have been deleted. */
  private idle(): Set<string> {
    const running = new Set(this.view.comingPlan?.pipelines.map(({ pipeline_id }) => pipeline_id));
    const named = this.policies.all().flatMap(({ nf, displaces }) => [nf, ...displaces]);
    return new Set(named.map(({ pipeline_id }) => pipeline_id).filter((id) => !running.has(id)));
  }

  private async isGone(pipelineId: string): Promise<boolean> {
    try {
      await this.pipelines.get(pipelineId);
      return false;
    } catch (error) {
      if (error instanceof ProblemError && error.status === 404) return true;
      throw error;
    }
  }
}
