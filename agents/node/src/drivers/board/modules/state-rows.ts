import { flowRowNumbers, isFlowRows, parseFlowRows } from '@orrery/contract';
import type { z } from 'zod';
import { firstIssue } from '../../../platform/first-issue.js';

/**
 * Validates imported state against its schema and turns binary rows into numbers. Throws an error that points to the
 * bad row.
 */
export function stateRows<S extends z.ZodType>(schema: S, state: Record<string, unknown>): z.infer<S> {
  const numbers = Object.entries(state).map(([name, value]) => [
    name,
    isFlowRows(value) ? flowRowNumbers(parseFlowRows(value)) : value,
  ]);
  const parsed = schema.safeParse(Object.fromEntries(numbers));
  if (!parsed.success) throw new Error(`/state${firstIssue(parsed.error)}`);
  return parsed.data;
}
