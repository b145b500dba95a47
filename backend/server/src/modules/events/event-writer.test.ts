import type { Event } from '@orrery/contract';
import { expect, it, vi } from 'vitest';
import { makeLog } from '../../platform/log.js';
import { Metrics } from '../../platform/metrics.js';
import type { Store } from '../../platform/redis.js';
import { EventWriter } from './event-writer.js';

/** Writes what it is given at once. */
function storeWith(written: string[]): Store {
  const multi = () => {
    const results: [null, string][] = [];
    const transaction = {
      xadd: (...args: unknown[]) => {
        const body = args[args.indexOf('e') + 1] as string;
        written.push((JSON.parse(body) as Event).message);
        results.push([null, '1-1']);
        return transaction;
      },
      exec: async () => results,
    };
    return transaction;
  };
  return { redis: { multi } } as unknown as Store;
}

it.each([0, 1, 2, 3, 4])('writes an event that comes %i steps behind the end of a write', async (steps) => {
  const written: string[] = [];
  const metrics = new Metrics();
  const writer = new EventWriter(storeWith(written), makeLog('silent'), metrics);
  const draft = (message: string) => ({ type: 'test.tick', subject: 'test', message });
  // Counting is the last thing that a write does; what is left of it are steps of the microtask queue.
  vi.spyOn(metrics.events, 'inc').mockImplementationOnce(() => {
    const after = (left: number): void => {
      if (left === 0) writer.append(draft('late'));
      else queueMicrotask(() => after(left - 1));
    };
    after(steps);
  });
  writer.append(draft('first'));
  await vi.waitFor(() => expect(written).toEqual(['first', 'late']));
  await writer.onApplicationShutdown();
});
