import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { type NfRef, nfInstances, type Plan } from '@orrery/contract';
import { grouped } from '@orrery/planner';
import { DEPLOYMENT_VIEW, type DeploymentView } from '../../ports/deployment-view.js';
import { runningNf } from './running-nf.js';
import { nameOf } from './scalings.js';

interface Tracked {
  readonly by: string;
  /** Monotonic clock. */
  readonly sinceMs: number;
}

/**
 * Since when the same engines or switches have tracked the flows of an NF, whatever had them begin. What was before the server
 * started is not known.
 */
@Injectable()
export class TrackedFlows implements OnApplicationBootstrap {
  private looked: Pick<DeploymentView, 'plan' | 'planInForce' | 'isGoingBack'> | null = null;
  /** By the names of NFs. */
  private tracked: ReadonlyMap<string, Tracked> = new Map();

  constructor(@Inject(DEPLOYMENT_VIEW) private readonly view: DeploymentView) {}

  onApplicationBootstrap(): void {
    this.view.onChange(() => this.look());
    this.look();
  }

  /** Whether all flows of the NF are known that send a packet at least each `idle_s` seconds. */
  areKnown(nf: NfRef, idle_s: number): boolean {
    this.look();
    const sinceMs = this.tracked.get(nameOf(nf))?.sinceMs;
    return sinceMs !== undefined && performance.now() - sinceMs >= 1000 * idle_s;
  }

  private look(): void {
    const { plan, planInForce, isGoingBack } = this.view;
    const { looked } = this;
    if (looked?.plan === plan && looked.planInForce === planInForce && looked.isGoingBack === isGoingBack) return;
    this.looked = { plan, planInForce, isGoingBack };
    const nowMs = performance.now();
    const inForce = trackersOf(planInForce);
    // Another plan is being carried out or taken back: who tracks flows by it may have lost them when that is over.
    const now = plan === planInForce ? inForce : trackersOf(plan);
    const tracked = new Map<string, Tracked>();
    for (const [name, who] of inForce) {
      const known = this.tracked.get(name);
      if (isGoingBack && known?.by !== who) {
        tracked.set(name, { by: 'others, until all is back', sinceMs: Number.POSITIVE_INFINITY });
        continue;
      }
      const by = now.get(name) === who ? who : `${who} and ${now.get(name)}`;
      tracked.set(name, known?.by === by ? known : { by, sinceMs: nowMs });
    }
    this.tracked = tracked;
  }
}

/** Who tracks the flows of NFs, by their names: what has another name or place knows none of them. */
function trackersOf(plan: Plan | null): Map<string, string> {
  const trackers = new Map<string, string>();
  const instances = grouped(nfInstances(plan?.graph), ({ chain_id }) => chain_id);
  const edges = grouped(plan?.graph.edges ?? [], ({ chain_id }) => chain_id);
  const splits = grouped(plan?.splits ?? [], ({ chain_id }) => chain_id);
  for (const chain of plan?.chains ?? []) {
    const { chain_id, definition } = chain;
    const nodes = instances.get(chain_id) ?? [];
    const graph = { nodes, edges: edges.get(chain_id) ?? [] };
    const part = { graph, chains: [chain], splits: splits.get(chain_id) ?? [] };
    for (const node_id of new Set(nodes.map((node) => node.node_id))) {
      const running = runningNf(part, { chain_id, node_id });
      if (!running?.tracked) continue;
      // Engines find what they know by the place of an edge among those of the chain.
      const edgesOf = JSON.stringify(definition.edges);
      trackers.set(nameOf({ chain_id, node_id }), `${running.sharers} ${edgesOf}`);
    }
  }
  return trackers;
}
