import { createContext, Script } from 'node:vm';

export class OutOfTime extends Error {}

const SCRIPT = new Script('work()');
const CONTEXT: { work?: () => unknown } = createContext({});

/** The result of work that changes nothing; if it takes longer, also in a regular expression, it is broken off: throws OutOfTime. */
export function withinMs<R>(limit_ms: number, work: () => R): R {
  CONTEXT.work = work;
  try {
    return SCRIPT.runInContext(CONTEXT, { timeout: limit_ms }) as R;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
    throw new OutOfTime(`no result within ${limit_ms} ms`);
  }
}
