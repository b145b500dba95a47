import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { CONFIG, type Config } from '../../../platform/config.js';
import type { ControlLoop } from '../../../platform/control-loop/control-loop.js';
import { CONTROL_LOOPS, type ControlLoops } from '../../../platform/control-loop/control-loops.js';
import type { LoopRun } from '../../../platform/control-loop/definition.js';
import { ProblemError } from '../../../platform/problem.js';
import { CHAINS, type ChainStore } from '../../../ports/chain-store.js';
import { DEPLOYMENT_VIEW, type DeploymentView } from '../../../ports/deployment-view.js';
import { SloAlerts } from '../alerts/slo-alerts.js';
import { SloLedgers } from './slo-ledgers.js';

/** Seconds are stored once in so many evaluations: ten seconds of them are lost at most. */
const EVALUATIONS = 10;
const DEADLINE_MS = 10_000;

/** Stores the seconds of objectives, and removes those of objectives and chains that are gone. */
@Injectable()
export class LedgerKeeper implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly loop: ControlLoop;

  constructor(
    @Inject(CONTROL_LOOPS) loops: ControlLoops,
    @Inject(CONFIG) config: Config,
    @Inject(DEPLOYMENT_VIEW) private readonly view: DeploymentView,
    @Inject(CHAINS) private readonly chains: ChainStore,
    @Inject(SloLedgers) private readonly ledgers: SloLedgers,
    @Inject(SloAlerts) private readonly alerts: SloAlerts,
  ) {
    const tickMs = EVALUATIONS * config.timing.sloPeriodMs;
    this.loop = loops.add({
      id: 'slo-history',
      title: 'SLO history',
      purpose: 'Stores how objectives were met, and removes what is kept of objectives and chains that are gone.',
      tickMs,
      backoff: { firstMs: tickMs, mostMs: 10 * tickMs },
      deadlineMs: DEADLINE_MS,
      run: (run) => this.run(run),
    });
  }

  onApplicationBootstrap(): void {
    this.loop.wake();
  }

  async onApplicationShutdown(): Promise<void> {
    await this.loop.stop();
    // Seconds since the last time; without them they would be unknown.
    await this.ledgers.flush(Date.now(), performance.now()).catch(() => undefined);
  }

  private async run({ step, decide }: LoopRun): Promise<undefined> {
    await step(this.ledgers.flush(Date.now(), performance.now()));
    for (const chainId of this.ledgers.chains()) {
      const deployed = this.view.plan?.chains.find(({ chain_id }) => chain_id === chainId);
      const isGone = !deployed && (await step(this.isDeleted(chainId)));
      const records = deployed
        ? this.ledgers.absentFrom(chainId, deployed.definition)
        : isGone
          ? this.ledgers.of(chainId)
          : [];
      if (records.length === 0) continue;
      await step(this.ledgers.remove(records, (batch) => isGone && this.alerts.forget(batch, chainId)));
      const why = isGone ? 'the chain was deleted' : 'the chain has these objectives no longer';
      const objectives = records.map(({ slo_id }) => slo_id).join(', ');
      decide({ subject: chainId, what: 'History of objectives removed', why, inputs: { objectives } });
    }
  }

  private async isDeleted(chainId: string): Promise<boolean> {
    try {
      await this.chains.get(chainId);
      return false;
    } catch (error) {
      if (error instanceof ProblemError && error.status === 404) return true;
      throw error;
    }
  }
}
