import { setImmediate } from 'node:timers/promises';
import type { ServicePool, ServiceRequestSpec } from '@orrery/contract';
import { liveNetwork, prepareNetwork, route } from '@orrery/planner';

export interface Served {
  readonly us_each: number;
  /** Of all; a way that misses the bound of its latency is no acceptance. */
  readonly kept: number;
  readonly given: number;
}

/** SLAs on empty instances, one by one: what a strategy takes for each, and how many of its ways keep what was asked for. */
export async function serve(
  pool: ServicePool,
  slas: readonly ServiceRequestSpec[],
  transit_us: number,
  strategy: 'hyper' | 'function-only',
): Promise<Served> {
  const functions = pool.definition.nfs.map(({ nf }) => nf);
  const instances = pool.instances.flatMap(({ id, nf, place, latency_us, rate_bps }) =>
    place === null || latency_us === null
      ? []
      : [{ id, nf, place, latency_us, rate_bps, measured: false, booked_bps: 0, measured_bps: 0 }],
  );
  const network = prepareNetwork(
    liveNetwork({ functions, instances, options: [], entry_us: () => transit_us, transit_us: () => transit_us }),
  );
  const outside = network.nodes - 1;
  let [tookMs, kept, given] = [0, 0, 0];
  for (const [n, { functions: asked, latency_us, throughput_bps }] of slas.entries()) {
    const request = {
      functions: asked.map((nf) => functions.indexOf(nf)),
      ingress: outside,
      egress: outside,
      latency_us,
      throughput_bps,
    };
    const beganMs = performance.now();
    const path = route(network, request, { strategy, seed: n + 1 });
    tookMs += performance.now() - beganMs;
    if (path && path.length > 0) {
      given++;
      let [at, sum] = [outside, 0];
      for (let k = 0; k < path.length; k++) {
        const node = network.node[path[k]!]!;
        sum += network.transit_us[at * network.nodes + node]! + network.latency_us[path[k]!]!;
        at = node;
      }
      if (sum + network.transit_us[at * network.nodes + outside]! <= latency_us * (1 + 1e-9)) kept++;
    }
    if (n % 200 === 0) await setImmediate();
  }
  return { us_each: (1000 * tookMs) / slas.length, kept, given };
}
