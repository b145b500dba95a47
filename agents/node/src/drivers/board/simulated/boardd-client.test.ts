import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { z } from 'zod';
import { scratchDirectory } from '../../../testing/scratch.js';
import { BoarddClient } from './boardd-client.js';

/** A client on a clock that the test controls, and a boardd that answers request `id` when it is told to. */
async function setUp() {
  const path = join(scratchDirectory(), 'b.ctl');
  const server = createServer().listen(path);
  await once(server, 'listening');
  const lost = vi.fn();
  const client = new BoarddClient(lost);
  const [[board]] = await Promise.all([once(server, 'connection') as Promise<[Socket]>, client.open(path)]);
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => {
    vi.useRealTimers();
    client.close();
    server.close();
  });
  const call = (method: string, limit_ms?: number) => client.call(method, {}, z.literal('done'), limit_ms);
  const answer = (id: number) => board.write(`${JSON.stringify({ id, result: 'done' })}\n`);
  return { lost, call, answer };
}

it('starts the time limit of a request when those before it have been answered', async () => {
  const { lost, call, answer } = await setUp();
  const table = call('table_export', 30_000);
  const status = call('status', 10_000);
  vi.advanceTimersByTime(29_000);
  answer(1);
  expect(await table).toBe('done');
  vi.advanceTimersByTime(9000);
  answer(2);
  expect(await status).toBe('done');
  expect(lost).not.toHaveBeenCalled();
});

it('loses a board that does not answer the oldest request in time, once, and fails all pending requests', async () => {
  const { lost, call, answer } = await setUp();
  const first = call('describe');
  answer(1);
  await first;
  vi.advanceTimersByTime(60_000);
  const waiting = Promise.allSettled([call('status', 10_000), call('table_export', 30_000)]);
  vi.advanceTimersByTime(9999);
  expect(lost).not.toHaveBeenCalled();
  vi.advanceTimersByTime(60_000);
  const reason = { kind: 'lost', message: 'boardd did not answer `status` within 10000 ms' };
  expect(await waiting).toMatchObject([{ reason }, { reason }]);
  expect(lost.mock.calls).toEqual([[reason.message]]);
});
