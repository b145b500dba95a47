import { unavailable } from '../platform/problem.js';
import type { Store } from '../platform/redis.js';

/** Where a server is killed: before its n-th write, or after that is done but before the reply arrives. */
export interface KillPoint {
  readonly write: number;
  readonly when: 'before' | 'after';
  /** Earlier writes do not count. */
  readonly once?: () => boolean;
}

/**
 * From the kill point on, the store accepts nothing: it then contains what a kill would leave. Returns a function that tells
 * whether the point was reached.
 */
export function killAt(store: Store, { write, when, once = () => true }: KillPoint): () => boolean {
  const transact = store.transact.bind(store);
  let writes = 0;
  let dead = false;
  store.transact = async (fill) => {
    if (!dead) {
      if (once()) writes++;
      dead = writes >= write;
      if (!dead || when === 'after') {
        const results = await transact(fill);
        if (!dead) return results;
      }
    }
    throw unavailable('The server is killed.');
  };
  return () => dead;
}
