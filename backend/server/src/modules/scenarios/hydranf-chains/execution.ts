import { type Plan, sampleKey } from '@orrery/contract';
import { ratioOf } from '../ratio.js';
import type { Stage } from '../scenario.js';
import { Window } from '../window.js';

/** What a chain does while it runs one way. */
export interface Execution {
  readonly p50_us: number | null;
  readonly p99_us: number | null;
  /** As the plan predicts. */
  readonly predicted_p50_us: number | null;
  /** CPU of NFs, mirrors and merges for a packet. */
  readonly cpu_us: number | null;
  /** The same as the plan counts it, for batches as a loaded engine has them. */
  readonly planned_cpu_share: number;
  /** Of each packet, for branches. */
  readonly copies: number;
  /** Given up by merges, as a share of the packets; `null`: not measured, or there were none. */
  readonly given_up: number | null;
  /** Packets per second out of the chain; `null`: not measured. */
  readonly pps: number | null;
  /** The plan's graph has a merge. */
  readonly isParallel: boolean;
}

const SETTLE_S = 3;

/** Measures the chain for so long, as it runs by the plan. */
export async function observe(
  stage: Stage,
  plan: Plan,
  chainId: string,
  seconds: number,
  what: string,
): Promise<Execution> {
  await stage.wait(SETTLE_S, `${what}: settling`);
  const since = Date.now();
  await stage.wait(seconds, `${what}: measuring`);
  const own = plan.graph.nodes.filter(({ chain_id }) => chain_id === chainId);
  const merges = own.filter(({ kind }) => kind === 'merge');
  const cpuKeys = own.flatMap(({ kind, id }) =>
    kind === 'exit' ? [] : [kind === 'nf' ? sampleKey('instance', id, 'cpu') : sampleKey('module', id, 'cpu')],
  );
  const chain = (metric: 'pps' | 'latency_p50_us' | 'latency_p99_us') => sampleKey('chain', chainId, metric);
  const lost = merges.map(({ id }) => sampleKey('module', id, 'lost_pps'));
  const keys = [...cpuKeys, ...lost, chain('pps'), chain('latency_p50_us'), chain('latency_p99_us')];
  const window = await Window.since(stage.api, keys, since);
  const pps = window.mean(chain('pps'));
  const cpu = window.sumOfMeans(cpuKeys);
  const lost_pps = window.sumOfMeans(lost);
  const all_pps = pps === null || lost_pps === null ? null : pps + lost_pps;
  return {
    p50_us: window.median(chain('latency_p50_us')),
    p99_us: window.median(chain('latency_p99_us')),
    predicted_p50_us:
      plan.slos.find(({ chain_id, slo_id }) => chain_id === chainId && slo_id === 'p50')?.predicted ?? null,
    cpu_us: cpu === null ? null : ratioOf(1e6 * cpu, pps),
    planned_cpu_share: own.reduce((sum, node) => sum + (node.kind === 'exit' ? 0 : node.core_share), 0),
    copies: plan.parallel.filter(({ chain_id }) => chain_id === chainId).reduce((sum, { copies }) => sum + copies, 0),
    given_up: ratioOf(lost_pps, all_pps),
    pps,
    isParallel: merges.length > 0,
  };
}
