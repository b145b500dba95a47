import type { Event, EventDraft } from '@orrery/contract';
import { expect, it, vi } from 'vitest';
import { makeLog } from '../../platform/log.js';
import { Metrics } from '../../platform/metrics.js';
import type { Store } from '../../platform/redis.js';
import { EventWriter } from './event-writer.js';

/** A store that writes immediately. */
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

it.each([0, 1, 2, 3, 4])('writes an event that arrives %i steps after the end of a write', async (steps) => {
  const written: string[] = [];
  const metrics = new Metrics();
  const writer = new EventWriter(storeWith(written), makeLog('silent'), metrics);
  const draft = (message: string): EventDraft => ({ type: 'twin.lost', subject: 'test', message, data: {} });
  // Counting is the last action of a write; only microtasks are left after it.
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
