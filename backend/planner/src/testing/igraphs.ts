import type { PlacementProblem } from '../placement/problem.js';
import { seededRandom } from '../random.js';

/**
 * An instance graph as E2's evaluation draws them (E2 3.6.2): each instance but the first gets traffic from `degree`
 * earlier ones on average, at 1 to 10 Mb/s an edge; servers of 16 cores hold 15 instances each, and so many are there that
 * one in ten cores stays free. Links and tables do not bind.
 */
export function randomIGraph(instances: number, seed: number, degree = 2): PlacementProblem {
  const random = seededRandom(seed);
  const items = Array.from({ length: instances }, (_, i) => ({
    id: `nf${i}`,
    cycles_per_second: 0.8e9,
    memory_bytes: 1e6,
    outside_in_bps: i === 0 ? 1e6 : 0,
    outside_out_bps: 0,
  }));
  const flows = Array.from({ length: Math.round((instances - 1) * degree) }, (_, i) => {
    const to = i < instances - 1 ? i + 1 : 1 + Math.floor(random() * (instances - 1));
    return { from: Math.floor(random() * to), to, rate_bps: Math.ceil(random() * 10) * 1e6 };
  });
  const bins = Array.from({ length: Math.max(2, Math.ceil(instances / 14.4)) }, (_, i) => ({
    id: `server-${i}`,
    cores: 16,
    hz: 1e9,
    memory_bytes: 1e9,
    link_bps: 1e12,
    link_constraint: 'nic-bandwidth' as const,
  }));
  return { items, flows, bins, table: { fixed: 0, available: 1e6, where: 'switch' } };
}
