import type { Operation } from '@orrery/contract';
import { vi } from 'vitest';
import { unavailable } from '../platform/problem.js';
import type { Store } from '../platform/redis.js';
import { KEYS } from '../platform/redis-keys.js';

/**
 * The store accepts writes of operations, but the reply is lost if `isLost` is true for the written operation. Returns the
 * number of lost replies.
 */
export function loseAnswers(store: Store, isLost: (operation: Operation) => boolean): { readonly lost: number } {
  const transact = store.transact.bind(store);
  const answers = { lost: 0 };
  store.transact = async (fill) => {
    const written: Operation[] = [];
    const results = await transact((transaction) => {
      const hset = vi.spyOn(transaction, 'hset');
      fill(transaction);
      for (const [key, texts] of hset.mock.calls as unknown as [string, ReadonlyMap<string, string>][])
        if (key === KEYS.operations) for (const text of texts.values()) written.push(JSON.parse(text).value);
    });
    if (!written.some(isLost)) return results;
    answers.lost++;
    throw unavailable('The answer was lost.');
  };
  return answers;
}
