import { nfInstances, type Plan, sampleKey } from '@orrery/contract';
import type { Stage } from '../scenario.js';
import { Window } from '../window.js';

/** What a form of a chain did. */
export interface Observed {
  readonly p50_us: number | null;
  /** CPU of its NFs for a packet. */
  readonly cpu_us: number | null;
  /** Packets per second out of the chain, at the offered rate. */
  readonly pps: number | null;
  /** The same of a flood; `null`: it was not flooded. */
  readonly flood_pps: number | null;
  /** On which its NFs run. */
  readonly servers: readonly string[];
}

const SETTLE_S = 3;

/** Measures the chain for so long. */
export async function observe(stage: Stage, plan: Plan, chainId: string, seconds: number, what: string) {
  await stage.wait(SETTLE_S, `${what}: settling`);
  const since = Date.now();
  await stage.wait(seconds, `${what}: measuring`);
  const instances = nfInstances(plan.graph).filter(({ chain_id }) => chain_id === chainId);
  const cpuKeys = instances.map(({ id }) => sampleKey('instance', id, 'cpu'));
  const pps = sampleKey('chain', chainId, 'pps');
  const p50 = sampleKey('chain', chainId, 'latency_p50_us');
  const window = await Window.since(stage.api, [...cpuKeys, pps, p50], since);
  const rate = window.median(pps);
  const cpu = window.sumOfMeans(cpuKeys);
  return {
    p50_us: window.median(p50),
    cpu_us: rate && cpu ? (1e6 * cpu) / rate : null,
    pps: rate,
    servers: [...new Set(instances.flatMap(({ server }) => server ?? []))],
  };
}

/** Packets per second that come out of the chain; `null` if nothing was measured. */
export async function rateOf(stage: Stage, chainId: string, seconds: number, what: string): Promise<number | null> {
  await stage.wait(SETTLE_S, `${what}: settling`);
  const since = Date.now();
  await stage.wait(seconds, `${what}: measuring`);
  const key = sampleKey('chain', chainId, 'pps');
  return (await Window.since(stage.api, [key], since)).median(key);
}
