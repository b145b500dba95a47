import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import type { ControlLoop } from '../../../platform/control-loop/control-loop.js';
import { CONTROL_LOOPS, type ControlLoops } from '../../../platform/control-loop/control-loops.js';
import type { LoopRun } from '../../../platform/control-loop/definition.js';
import { ProblemError } from '../../../platform/problem.js';
import { CHAINS, type ChainStore } from '../../../ports/chain-store.js';
import { DEPLOYMENT_VIEW, type DeploymentView } from '../../../ports/deployment-view.js';
import { EVENT_SOURCE, type EventSource } from '../../../ports/event-log.js';
import { Policies } from './policies.js';

const BACKOFF = { firstMs: 1000, mostMs: 30_000 };
const DEADLINE_MS = 60_000;
const READ_AT_ONCE = 500;

/** Removes policies of deleted chains, even if the server was down at the deletion. */
@Injectable()
export class PolicySweeper implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly loop: ControlLoop;
  private seen = '0-0';
  private isDue = true;
  private endNews = () => {};

  constructor(
    @Inject(CONTROL_LOOPS) loops: ControlLoops,
    @Inject(EVENT_SOURCE) private readonly events: EventSource,
    @Inject(CHAINS) private readonly chains: ChainStore,
    @Inject(DEPLOYMENT_VIEW) private readonly view: DeploymentView,
    @Inject(Policies) private readonly policies: Policies,
  ) {
    this.loop = loops.add({
      id: 'policy-sweep',
      title: 'Policy clean-up',
      purpose: 'Removes reconfiguration policies of deleted chains.',
      tickMs: null,
      backoff: BACKOFF,
      deadlineMs: DEADLINE_MS,
      run: (run) => this.run(run),
    });
  }

  onApplicationBootstrap(): void {
    this.seen = this.events.latest;
    this.endNews = this.events.onNews(() => this.loop.wake());
    this.loop.wake();
  }

  onApplicationShutdown(): Promise<void> {
    this.endNews();
    return this.loop.stop();
  }

  /** Checks once at start, then whenever a chain is deleted; retries until a check succeeds. */
  private async run({ step, decide }: LoopRun): Promise<undefined> {
    await step(this.readNews());
    if (!this.isDue) return;
    for (const id of await step(this.deleted())) {
      decide({
        subject: id,
        what: 'Policies removed',
        why: 'the chain was deleted',
        inputs: { policies: this.policies.all().length },
      });
      await step(this.policies.forget(id));
    }
    this.isDue = false;
  }

  /** Deleted chains that policies still refer to. */
  private async deleted(): Promise<string[]> {
    const gone: string[] = [];
    for (const id of this.idle()) if (await this.isGone(id)) gone.push(id);
    return gone;
  }

  /** Marks a check as due if a chain was deleted, according to the new events. */
  private async readNews(): Promise<void> {
    for (;;) {
      const events = await this.events.after(this.seen, READ_AT_ONCE);
      this.seen = events.at(-1)?.id ?? this.seen;
      this.isDue ||= events.some(({ type }) => type === 'chain.deleted');
      if (events.length < READ_AT_ONCE) return;
    }
  }

  /** Undeployed chains of policies: only these can have been deleted. */
  private idle(): Set<string> {
    const running = new Set(this.view.comingPlan?.chains.map(({ chain_id }) => chain_id));
    const named = this.policies.all().flatMap(({ nf, displaces }) => [nf, ...displaces]);
    return new Set(named.map(({ chain_id }) => chain_id).filter((id) => !running.has(id)));
  }

  private async isGone(chainId: string): Promise<boolean> {
    try {
      await this.chains.get(chainId);
      return false;
    } catch (error) {
      if (error instanceof ProblemError && error.status === 404) return true;
      throw error;
    }
  }
}
