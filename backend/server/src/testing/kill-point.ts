import { unavailable } from '../platform/problem.js';
import type { Store, Transaction } from '../platform/redis.js';

/** Where a server is killed: before its n-th write, or after that is done but before the reply arrives. */
export interface KillPoint {
  readonly write: number;
  readonly when: 'before' | 'after';
  /** Earlier writes do not count. */
  readonly once?: () => boolean;
  /** Only writes that store a text with this part count. */
  readonly storing?: string;
}

/**
 * From the kill point on, the store accepts nothing: it then contains what a kill would leave. Returns a function that tells
 * whether the point was reached.
 */
export function killAt(store: Store, { write, when, once = () => true, storing }: KillPoint): () => boolean {
  const transact = store.transact.bind(store);
  let writes = 0;
  let dead = false;
  store.transact = async (fill) => {
    if (!dead) {
      if (once() && (storing === undefined || stores(fill, storing))) writes++;
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

function stores(fill: (transaction: Transaction) => void, part: string): boolean {
  const given: unknown[] = [];
  const recorder: Transaction = new Proxy({} as Transaction, {
    get:
      () =>
      (...args: unknown[]) => {
        given.push(...args);
        return recorder;
      },
  });
  fill(recorder);
  return given.flat().some((arg) => String(arg).includes(part));
}
