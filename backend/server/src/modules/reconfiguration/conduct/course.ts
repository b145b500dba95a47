import { Id, LoadResult, Name } from '@orrery/contract';
import { z } from 'zod';
import { Decision } from '../decision/decision.js';

/**
 * What an unfinished reconfiguration intends to do. It is stored before the first change is requested; together with the
 * record and its operations it suffices to resume after a restart or to roll back.
 */
export const Course = z
  .strictObject({
    decision: Decision,
    /** Requester, and the priority of the request. */
    by: z.string(),
    priority: z.number(),
    /** Id of the plan in effect before; null: nothing ran. */
    plan_before: Id.nullable(),
    /** The latest load of each board before the run. */
    loads_before: z.record(Name, LoadResult.nullable()),
    /** Why it is being rolled back; null: it is not. */
    failure: z.string().nullable(),
  })
  .readonly();
export type Course = z.infer<typeof Course>;
