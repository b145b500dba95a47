import { Inject, Injectable } from '@nestjs/common';
import { type Instance, type NfRef, nfInstances, type Plan, type SampleMetric, sampleKey } from '@orrery/contract';
import type { NfLoad } from '@orrery/planner';
import { DATA_PATH, type DataPath } from '../../ports/data-path.js';
import { DEPLOYMENT_VIEW, type DeploymentView } from '../../ports/deployment-view.js';
import { FLEET, type NodeFleet } from '../../ports/node-fleet.js';
import { TELEMETRY, type Telemetry } from '../../ports/telemetry.js';
import { runningNf } from './running-nf.js';

/** How long the latest sample is valid. */
const FRESH_MS = 2500;
/** Over which CPU and queues are averaged: packets and the quotas of a limited container come in bursts. */
const MEAN_MS = 2000;

/** What is measured of the instances of an NF and of what is behind them. */
@Injectable()
export class ScalingLoads {
  constructor(
    @Inject(TELEMETRY) private readonly telemetry: Telemetry,
    @Inject(DEPLOYMENT_VIEW) private readonly view: DeploymentView,
    @Inject(DATA_PATH) private readonly dataPath: DataPath,
    @Inject(FLEET) private readonly fleet: NodeFleet,
  ) {}

  /** Null: it does not run. */
  of(nf: NfRef): NfLoad | null {
    const { plan } = this.view;
    const running = runningNf(plan, nf);
    if (!plan || !running) return null;
    return {
      instances: running.instances.map(({ id, ordinal, server, core, cpu_limit: limit = 1 }) => {
        const share = this.mean(id, 'cpu');
        const ofCore = this.utilization(plan, server, core);
        return {
          ...{ id, ordinal, share, limit },
          utilization: share === null || ofCore === null ? null : Math.max(ofCore, share / limit),
          queue: this.mean(id, 'queue'),
          delay_us: this.telemetry.newest(sampleKey('instance', id, 'latency_p99_us'), FRESH_MS),
        };
      }),
      ranges: running.ranges,
      behind: this.deepestBehind(plan, nf),
      hindrance: this.hindranceOf(nf, running.instances),
    };
  }

  private hindranceOf({ chain_id }: NfRef, instances: readonly Instance[]): string | null {
    const away = instances.find(({ server }) => !this.fleet.isConnected(server));
    if (away) return `the agent of ${away.server} is away`;
    return this.dataPath.troublesOf(chain_id).find(({ link }) => link !== null)?.what ?? null;
  }

  private mean(id: string, metric: SampleMetric<'instance'>): number | null {
    return this.telemetry.mean(sampleKey('instance', id, metric), MEAN_MS, FRESH_MS);
  }

  /** Of a core, by all instances that run there; null: one of them was not measured. */
  private utilization(plan: Plan, server: string, core: number): number | null {
    const shares = nfInstances(plan.graph)
      .filter((it) => it.server === server && it.core === core && it.driver !== 'board')
      .map(({ id }) => this.mean(id, 'cpu'));
    if (shares.length === 0 || shares.includes(null)) return null;
    return shares.reduce<number>((sum, share) => sum + share!, 0);
  }

  private deepestBehind(plan: Plan, { chain_id, node_id }: NfRef): NfLoad['behind'] {
    const edges = plan.chains.find((chain) => chain.chain_id === chain_id)?.definition.edges ?? [];
    const behind = new Set<string>();
    const open = [node_id];
    for (let at = open.pop(); at !== undefined; at = open.pop())
      for (const { from, to } of edges)
        if (from === at && !behind.has(to)) {
          behind.add(to);
          open.push(to);
        }
    const queues = nfInstances(plan.graph).flatMap(({ id, node_id: node, chain_id: chain }) => {
      const queue = chain === chain_id && behind.has(node) ? this.mean(id, 'queue') : null;
      return queue === null ? [] : [{ node_id: node, queue }];
    });
    return queues.length === 0 ? null : queues.reduce((a, b) => (b.queue > a.queue ? b : a));
  }
}
