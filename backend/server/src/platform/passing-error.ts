import { LostReply } from '../ports/node-fleet.js';
import { ProblemError } from './problem.js';
import { isStoreAway } from './redis.js';

/** Whether an error is transient, caused by an absent dependency such as a restarting store rather than by the request. */
export function isPassing(error: unknown): boolean {
  return isStoreAway(error) || error instanceof LostReply || (error instanceof ProblemError && error.status >= 500);
}
