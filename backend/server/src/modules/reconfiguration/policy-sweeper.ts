import { setTimeout as sleep } from 'node:timers/promises';
import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { LOG, type Log } from '../../platform/log.js';
import { ProblemError } from '../../platform/problem.js';
import { Signal } from '../../platform/signal.js';
import { DEPLOYMENT_VIEW, type DeploymentView } from '../../ports/deployment-view.js';
import { EVENT_SOURCE, type EventSource } from '../../ports/event-log.js';
import { PIPELINES, type PipelineStore } from '../../ports/pipeline-store.js';
import { Policies } from './policies.js';

const RETRY_MS = 1000;
const READ_AT_ONCE = 500;

/** Policies end with the chain for which they are, also where the server was away when it was deleted. */
@Injectable()
export class PolicySweeper implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly news = new Signal();
  private readonly closing = new AbortController();
  private seen = '0-0';
  private endNews = () => {};
  private work: Promise<void> = Promise.resolve();

  constructor(
    @Inject(LOG) private readonly log: Log,
    @Inject(EVENT_SOURCE) private readonly events: EventSource,
    @Inject(PIPELINES) private readonly pipelines: PipelineStore,
    @Inject(DEPLOYMENT_VIEW) private readonly view: DeploymentView,
    @Inject(Policies) private readonly policies: Policies,
  ) {}

  onApplicationBootstrap(): void {
    this.seen = this.events.latest;
    this.endNews = this.events.onNews(() => this.news.wake());
    this.work = this.follow();
  }

  async onApplicationShutdown(): Promise<void> {
    this.endNews();
    this.closing.abort();
    this.news.wake();
    await this.work;
  }

  /** Looks once, and then whenever a chain was deleted. */
  private async follow(): Promise<void> {
    const { signal } = this.closing;
    let due = true;
    while (!signal.aborted) {
      try {
        if (due) await this.sweep();
        due = false;
        await this.news.wait();
        due = await this.wasAnyDeleted();
      } catch (error) {
        due = true;
        this.log.warn({ error: (error as Error).message }, 'policies of deleted chains are looked for again');
        await sleep(RETRY_MS, undefined, { signal }).catch(() => undefined);
      }
    }
  }

  private async sweep(): Promise<void> {
    for (const id of this.idle()) if (await this.isGone(id)) await this.policies.forget(id);
  }

  /** Whether the events since the last look tell of one. */
  private async wasAnyDeleted(): Promise<boolean> {
    let found = false;
    for (;;) {
      const events = await this.events.after(this.seen, READ_AT_ONCE);
      this.seen = events.at(-1)?.id ?? this.seen;
      found ||= events.some(({ type }) => type === 'pipeline.deleted');
      if (events.length < READ_AT_ONCE) return found;
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
