import type { z } from 'zod';
import { firstIssue } from '../../../platform/first-issue.js';

/** Imported state after its schema. Throws an error that points to the bad row. */
export function stateRows<S extends z.ZodType>(schema: S, state: Record<string, unknown>): z.infer<S> {
  const parsed = schema.safeParse(state);
  if (!parsed.success) throw new Error(`/state${firstIssue(parsed.error)}`);
  return parsed.data;
}
