import { flowRowNumbers, ipv4FlowRows, isFlowRows, parseFlowRows } from '@orrery/contract';
import type { z } from 'zod';
import { firstIssue } from '../../../platform/first-issue.js';

/** How many rows of exported state have an IPv6 address. */
export function ipv6Rows(state: Record<string, unknown>): number {
  const tables = Object.values(state).filter(isFlowRows).map(parseFlowRows);
  return tables.reduce((sum, table) => sum + table.rows.length - ipv4FlowRows(table).rows.length, 0);
}

/**
 * Validates imported state against its schema and turns binary rows into numbers. Rows of IPv6 are left out: a board lets
 * its packets pass and needs no state for them. Throws an error that points to the bad row.
 */
export function stateRows<S extends z.ZodType>(schema: S, state: Record<string, unknown>): z.infer<S> {
  const numbers = Object.entries(state).map(([name, value]) => [
    name,
    isFlowRows(value) ? flowRowNumbers(ipv4FlowRows(parseFlowRows(value))) : value,
  ]);
  const parsed = schema.safeParse(Object.fromEntries(numbers));
  if (!parsed.success) throw new Error(`/state${firstIssue(parsed.error)}`);
  return parsed.data;
}
