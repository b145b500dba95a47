import type { Event, EventDraft } from '@orrery/contract';
import { expect, it, vi } from 'vitest';
import { makeLog } from '../../platform/log.js';
import { Metrics } from '../../platform/metrics.js';
import type { Store } from '../../platform/redis.js';
import { EventWriter } from './event-writer.js';

/** A store that writes immediately; `refuse` may name an error for an event. */
function storeWith(written: string[], refuse: (message: string) => Error | null = () => null): Store {
  const multi = () => {
    const results: [Error | null, string][] = [];
    const transaction = {
      xadd: (...args: unknown[]) => {
        const body = args[args.indexOf('e') + 1] as string;
        const { message } = JSON.parse(body) as Event;
        const error = refuse(message);
        if (!error) written.push(message);
        results.push([error, '1-1']);
        return transaction;
      },
      exec: async () => results,
    };
    return transaction;
  };
  return { redis: { multi, xrevrange: async () => [] } } as unknown as Store;
}

const draft = (message: string): EventDraft => ({ type: 'twin.lost', subject: 'test', message, data: {} });

it.each([0, 1, 2, 3, 4])('writes an event that arrives %i steps after the end of a write', async (steps) => {
  const written: string[] = [];
  const metrics = new Metrics();
  const writer = new EventWriter(storeWith(written), makeLog('silent'), metrics);
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

it('counts an event that Redis refuses for itself as lost, and writes the others', async () => {
  const written: string[] = [];
  const metrics = new Metrics();
  const lost = vi.spyOn(metrics.eventsLost, 'inc');
  const refuse = (message: string) => (message === 'bad' ? new Error('ERR no such thing') : null);
  const writer = new EventWriter(storeWith(written, refuse), makeLog('silent'), metrics);
  for (const message of ['first', 'bad', 'last']) writer.append(draft(message));
  await vi.waitFor(() => expect(written).toEqual(['first', 'last']));
  await writer.onApplicationShutdown();
  expect(lost.mock.calls.reduce((sum, [count = 1]) => sum + Number(count), 0)).toBe(1);
});

it('writes an event again that Redis refused because it was full', async () => {
  const written: string[] = [];
  const metrics = new Metrics();
  const lost = vi.spyOn(metrics.eventsLost, 'inc');
  let attempts = 0;
  const refuse = () => (++attempts < 3 ? new Error('OOM command not allowed') : null);
  const writer = new EventWriter(storeWith(written, refuse), makeLog('silent'), metrics);
  writer.append(draft('kept'));
  await vi.waitFor(() => expect(written).toEqual(['kept']), 5000);
  await writer.onApplicationShutdown();
  expect(lost.mock.calls.every(([count]) => Number(count) === 0)).toBe(true);
});
