import { CORE_BUDGET, type PlacementProblem } from '@orrery/planner';
import type { Rack } from './igraph.js';

export type Component = 'cores' | 'server links' | 'switch';

/** The most that a placement carries, and what is full then (E2 3.6.2). */
export interface Throughput {
  readonly max_bps: number;
  readonly binds: Component;
}

/**
 * Traffic grows in proportion everywhere until the first component is full: the budget of a core, the link of a server
 * in one direction, or the switch. What enters or leaves by an external port and what crosses servers goes through the
 * switch once.
 */
export function saturate(
  { items, flows, bins }: PlacementProblem,
  places: readonly { readonly bin: number; readonly core: number }[],
  rate_bps: number,
  rack: Rack,
): Throughput {
  const cores = new Map<string, number>();
  const into = bins.map(() => 0);
  const out = bins.map(() => 0);
  let through = 0;
  items.forEach(({ cycles_per_second, outside_in_bps, outside_out_bps }, i) => {
    const { bin, core } = places[i]!;
    const key = `${bin} ${core}`;
    cores.set(key, (cores.get(key) ?? 0) + cycles_per_second / (bins[bin]!.hz * CORE_BUDGET));
    into[bin]! += outside_in_bps;
    out[bin]! += outside_out_bps;
    through += outside_in_bps + outside_out_bps;
  });
  for (const flow of flows) {
    const from = places[flow.from]!.bin;
    const to = places[flow.to]!.bin;
    if (from === to) continue;
    out[from]! += flow.rate_bps;
    into[to]! += flow.rate_bps;
    through += flow.rate_bps;
  }
  const used: readonly (readonly [Component, number])[] = [
    ['cores', Math.max(...cores.values())],
    ['server links', Math.max(...into, ...out) / rack.link_bps],
    ['switch', through / rack.switch_bps],
  ];
  const [binds, most] = used.reduce((a, b) => (b[1] > a[1] ? b : a));
  return { max_bps: rate_bps / most, binds };
}
