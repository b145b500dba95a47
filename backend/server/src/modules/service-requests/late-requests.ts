import type { LoopRun } from '../../platform/control-loop/definition.js';
import type { Decider } from './decider.js';
import type { Requests } from './requests.js';
import type { Searches } from './searches.js';

interface Parts {
  readonly requests: Requests;
  readonly decider: Decider;
  readonly searches: Searches;
}

/**
 * Looks for ways that keep the bounds of late requests of the pool, those that have been so for longest first. When to look again,
 * in ms; null: none is late.
 */
export async function seekForLate(
  { decide, signal, step, holdDeadline }: LoopRun,
  pool: string,
  { requests, decider, searches }: Parts,
): Promise<number | null> {
  const late = () => {
    const those = requests.heldOf(pool).filter(({ state }) => state === 'late');
    return those.sort((a, b) => a.updated_ms - b.updated_ms).map(({ id }) => id);
  };
  const why = () => 'No other way keeps the bound.';
  for (const id of searches.begin(late(), performance.now())) {
    const request = requests.find(id);
    if (request?.state !== 'late') continue;
    decide({ subject: id, what: 'Look for another way', why: 'it misses its bound', inputs: { pool } });
    // One by one: what one would leave is not there for others if it stays.
    await step(decider.chooseAgain([request], { without: 'late', why, signal, begins: holdDeadline() }));
  }
  return searches.inMs(late(), performance.now());
}
