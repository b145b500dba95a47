import type { Infrastructure, Plan } from '@orrery/contract';
import { grouped } from '@orrery/planner';
import type { Violation } from '../budget/seconds-history.js';
import { BEFORE_MS, type ChainSite, siteOf } from './causes.js';

/** Plans that are remembered, at most: the latest. */
const MOST_PLANS = 12;
/** A violation is seen so long after it began, at most. */
const SEEN_WITHIN_MS = 10_000;

type Layout = Pick<Plan, 'graph' | 'chains'>;
type Network = Pick<Infrastructure, 'links' | 'switches'>;

/** Of one plan. */
interface Laid {
  readonly graph: Plan['graph'];
  readonly nodes: ReadonlyMap<string, Plan['graph']['nodes']>;
  readonly senders: ReadonlyMap<string, readonly string[]>;
  lastMs: number;
}

/**
 * What chains ran on when a violation was first seen, and in the time before in which its cause is looked for: loops may have moved
 * the chain away from what failed by then. Times of the history.
 */
export class SiteMemory {
  private plans: Laid[] = [];
  /** By objective, of the last violation. */
  private readonly sites = new Map<string, { readonly seen_ms: number; readonly site: ChainSite }>();

  follow(plan: Layout | null, nowMs: number): void {
    const last = this.plans.at(-1);
    if (plan && last?.graph === plan.graph) last.lastMs = nowMs;
    else if (plan) this.plans.push(laid(plan, nowMs));
    const sinceMs = nowMs - BEFORE_MS - SEEN_WITHIN_MS;
    this.plans = this.plans.filter(({ lastMs }) => lastMs >= sinceMs).slice(-MOST_PLANS);
  }

  /** Keeps the site of a violation, at its first call for it. */
  see(objective: string, chainId: string, violation: Violation, network: Network): void {
    const { began_ms, seen_ms } = violation;
    if (this.sites.get(objective)?.seen_ms === seen_ms) return;
    this.sites.set(objective, { seen_ms, site: this.since(began_ms - BEFORE_MS, chainId, network) });
  }

  /** As it was kept; of a violation that another server saw begin, by the plans since this one was started. */
  of(objective: string, chainId: string, { began_ms, seen_ms }: Violation, network: Network): ChainSite {
    const known = this.sites.get(objective);
    return known?.seen_ms === seen_ms ? known.site : this.since(began_ms - BEFORE_MS, chainId, network);
  }

  /** What the chain runs on, and ran on in the last two minutes. */
  lately(chainId: string, network: Network): ChainSite {
    return this.since(0, chainId, network);
  }

  /** Forgets the sites of all other objectives. */
  retain(objectives: { has(objective: string): boolean }): void {
    for (const objective of this.sites.keys()) if (!objectives.has(objective)) this.sites.delete(objective);
  }

  private since(fromMs: number, chainId: string, network: Network): ChainSite {
    const sites = this.plans
      .filter(({ lastMs }) => lastMs >= fromMs)
      .map(({ nodes, senders }) => siteOf(chainId, nodes.get(chainId) ?? [], senders.get(chainId) ?? [], network));
    const all = (of: 'parts' | 'ports') => new Set(sites.flatMap((site) => [...site[of]]));
    return { chainId, parts: all('parts'), ports: all('ports') };
  }
}

function laid({ graph, chains }: Layout, nowMs: number): Laid {
  return {
    graph,
    nodes: grouped(graph.nodes, ({ chain_id }) => chain_id),
    senders: new Map(chains.map(({ chain_id, definition }) => [chain_id, definition.traffic_class.from])),
    lastMs: nowMs,
  };
}
