import { BadProblem, requireAtLeast, requireAtMost, requireIndex, requireWhole } from '../bad-problem.js';
import type { PlacementProblem } from './problem.js';

/** Larger problems are refused: a state alone would take gigabytes. */
const MAX_ITEMS = 10_000;
export const MAX_FLOWS = 500_000;
const MAX_BINS = 1000;
const MAX_CORES = 4096;

/** Errors: `BadProblem` with the invalid field. */
export function requireSound({ items, flows, bins, table }: PlacementProblem): void {
  requireAtMost('/items', items.length, MAX_ITEMS);
  requireAtMost('/flows', flows.length, MAX_FLOWS);
  requireAtMost('/bins', bins.length, MAX_BINS);
  items.forEach((item, i) => {
    for (const field of ['cycles_per_second', 'memory_bytes', 'outside_in_bps', 'outside_out_bps'] as const)
      requireAtLeast(`/items/${i}/${field}`, item[field], 0);
    for (const bin of item.hosts?.bins ?? []) requireIndex(`/items/${i}/hosts`, bin, bins.length);
  });
  flows.forEach(({ from, to, rate_bps }, i) => {
    requireAtLeast(`/flows/${i}/rate_bps`, rate_bps, 0);
    for (const [field, index] of Object.entries({ from, to })) {
      if (!Number.isInteger(index) || index < 0 || index >= items.length)
        throw new BadProblem(`/flows/${i}/${field}`, `names no item: ${index}`);
    }
    if (from === to) throw new BadProblem(`/flows/${i}`, `joins item ${from} to itself`);
  });
  bins.forEach((bin, i) => {
    requireAtLeast(`/bins/${i}/hz`, bin.hz, 0, true);
    requireWhole(`/bins/${i}/cores`, bin.cores, 0, MAX_CORES);
    requireAtLeast(`/bins/${i}/memory_bytes`, bin.memory_bytes, 0);
    if (!(bin.link_bps >= 0)) throw new BadProblem(`/bins/${i}/link_bps`, `must be at least 0, not ${bin.link_bps}`);
  });
  requireAtLeast('/table/fixed', table.fixed, 0);
  requireAtLeast('/table/available', table.available, 0);
}
