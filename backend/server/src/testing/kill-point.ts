import { unavailable } from '../platform/problem.js';
import type { Store } from '../platform/redis.js';

/** Where a server is killed: before its n-th write, or when that is done but not yet known to be. */
export interface KillPoint {
  readonly write: number;
  readonly when: 'before' | 'after';
  /** Earlier writes do not count. */
  readonly once?: () => boolean;
}

/**
 * From the point on the store takes nothing more: what it holds then is what a kill there leaves. Gives a function that says
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
