import { type Plan, type Series, sampleKey } from '@orrery/contract';
import { grouped } from '@orrery/planner';
import type { Growth, NfGrowth } from './places.js';

/** What is compared with the time since a violation began. */
const BEFORE_MS = 120_000;

type Read = (keys: readonly string[], sinceMs: number) => Series[];

/** Of a chain and its NFs: latency, and packets for which queues have no room. */
export interface Growths {
  readonly chain: Growth;
  readonly slower: readonly NfGrowth[];
  readonly fuller: readonly NfGrowth[];
}

/** Means before and since a violation, from samples; of several instances of an NF the largest. */
export function growthsOf(plan: Pick<Plan, 'graph' | 'chains'>, chainId: string, beganMs: number, read: Read): Growths {
  const instances = plan.graph.nodes.flatMap((node) => (node.kind === 'nf' && node.chain_id === chainId ? [node] : []));
  const mean = (key: string): Growth => {
    const points = read([key], beganMs - BEFORE_MS)[0]?.points ?? [];
    const of = (values: readonly number[]) =>
      values.length > 0 ? values.reduce((sum, value) => sum + value, 0) / values.length : null;
    const past = points.filter(([t]) => t < beganMs).map(([, value]) => value);
    return { before: of(past), since: of(points.slice(past.length).map(([, value]) => value)) };
  };
  const most = (values: readonly (number | null)[]) => {
    const known = values.flatMap((value) => value ?? []);
    return known.length > 0 ? Math.max(...known) : null;
  };
  const ofNfs = (metric: 'latency_p99_us' | 'full_pps'): NfGrowth[] =>
    [...grouped(instances, ({ node_id }) => node_id)].map(([nf, own]) => {
      const each = own.map(({ id }) => mean(sampleKey('instance', id, metric)));
      return { nf, before: most(each.map(({ before }) => before)), since: most(each.map(({ since }) => since)) };
    });
  return {
    chain: mean(sampleKey('chain', chainId, 'latency_p99_us')),
    slower: ofNfs('latency_p99_us'),
    fuller: ofNfs('full_pps'),
  };
}
