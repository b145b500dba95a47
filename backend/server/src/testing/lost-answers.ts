import { vi } from 'vitest';
import { unavailable } from '../platform/problem.js';
import type { Store } from '../platform/redis.js';
import { KEYS } from '../platform/redis-keys.js';

/**
 * The store takes what is written of operations, but its answer is lost where `isLost` says so of one that was written.
 * Gives how many were.
 */
export function loseAnswers(store: Store, isLost: (operation: string) => boolean): { readonly lost: number } {
  const transact = store.transact.bind(store);
  const answers = { lost: 0 };
  store.transact = async (fill) => {
    const written: string[] = [];
    const results = await transact((transaction) => {
      const hset = vi.spyOn(transaction, 'hset');
      fill(transaction);
      for (const [key, , value] of hset.mock.calls) if (key === KEYS.operations) written.push(String(value));
    });
    if (!written.some(isLost)) return results;
    answers.lost++;
    throw unavailable('The answer was lost.');
  };
  return answers;
}
