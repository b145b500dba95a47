import { CORE_BUDGET } from '../igraph/sizing.js';
import type { Constraint, PlacementProblem } from './problem.js';

/** Tolerance, so that rounding does not count as a shortage. */
const SLACK = 1 + 1e-9;

/** Shortages that no placement can resolve, from sums alone; empty does not mean that everything fits. */
export function shortages({ items, bins, table }: PlacementProblem): Constraint[] {
  const where = 'infrastructure';
  if (items.length === 0) return [];
  if (bins.length === 0) return [{ constraint: 'cpu', needed: items.length, available: 0, unit: 'servers', where }];
  const sum = (values: number[]) => values.reduce((a, b) => a + b, 0);
  const found: Constraint[] = [];
  const check = (constraint: Constraint['constraint'], needed: number, available: number, unit: string, at = where) => {
    if (needed > available * SLACK) found.push({ constraint, needed, available, unit, where: at });
  };
  const cycles = sum(items.map(({ cycles_per_second }) => cycles_per_second));
  check('cpu', cycles / 1e9, sum(bins.map(({ cores, hz }) => cores * hz * CORE_BUDGET)) / 1e9, 'GHz');
  /** Two items that each need more than half of the fastest core never share one. */
  const half = (Math.max(...bins.map(({ hz }) => hz)) * CORE_BUDGET * SLACK) / 2;
  const large = items.filter(({ cycles_per_second }) => cycles_per_second > half).length;
  check('cpu', large, sum(bins.map(({ cores }) => cores)), 'cores');
  const memory = sum(items.map(({ memory_bytes }) => memory_bytes));
  check('memory', memory, sum(bins.map(({ memory_bytes }) => memory_bytes)), 'bytes');
  check('switch-table', table.fixed, table.available, 'entries', table.where);
  const outside = Math.max(
    sum(items.map(({ outside_in_bps }) => outside_in_bps)),
    sum(items.map(({ outside_out_bps }) => outside_out_bps)),
  );
  const byLink = bins.some(({ link_constraint }) => link_constraint === 'link-bandwidth');
  check(byLink ? 'link-bandwidth' : 'nic-bandwidth', outside, sum(bins.map(({ link_bps }) => link_bps)), 'bps');
  return found;
}
