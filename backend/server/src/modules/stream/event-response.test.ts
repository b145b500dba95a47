import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { Event } from '@orrery/contract';
import { beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import type { EventSource } from '../../ports/event-log.js';
import { EventResponse } from './event-response.js';

beforeEach(() => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
});

/** The response to a client that reads nothing: its connection takes one piece of output, and no more. */
function unread(): { raw: ServerResponse; connection: Socket } {
  const connection = new Socket();
  connection._write = () => undefined;
  connection._writev = () => undefined;
  connection._final = () => undefined;
  const raw = new ServerResponse(new IncomingMessage(connection));
  raw.assignSocket(connection);
  raw.writeHead(200);
  return { raw, connection };
}

/** A log without end whose events are larger than what a connection takes. */
function logOf(covers: () => Promise<boolean>): EventSource {
  const message = 'x'.repeat(100_000);
  let count = 0;
  const after = async (): Promise<Event[]> => [
    {
      id: `${++count}-0`,
      t_ms: 0,
      type: 'chain.created',
      project: 'default',
      severity: 'info',
      subject: 'a',
      actor: 'server',
      message,
      data: { revision: 1, name: 'a' },
    },
  ];
  return { latest: '0-0', covers, after, before: after, onNews: () => () => undefined };
}

/** Errors that no listener takes would end the process. */
function uncaught(raw: ServerResponse): unknown[] {
  const errors: unknown[] = [];
  const emit = raw.emit.bind(raw);
  vi.spyOn(raw, 'emit').mockImplementation((name, ...values: unknown[]) => {
    if (name === 'error') errors.push(values[0]);
    return emit(name, ...values);
  });
  // As Fastify has it: takes the first error only.
  raw.once('error', () => undefined);
  return errors;
}

const serve = (raw: ServerResponse, covers: () => Promise<boolean>) =>
  new EventResponse(raw, { source: logOf(covers), from: '0-0', type: undefined });

it('writes nothing after its end to a client that does not read, and cuts it off soon', async () => {
  const { raw, connection } = unread();
  const errors = uncaught(raw);
  const response = serve(raw, async () => true);
  await vi.waitFor(() => expect(raw.writableNeedDrain).toBe(true));
  response.finish();
  response.finish();
  await vi.advanceTimersByTimeAsync(1000);
  expect(connection.destroyed).toBe(true);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(errors).toEqual([]);
});

it('does not tell of a trimmed log after its end', async () => {
  const { raw } = unread();
  const errors = uncaught(raw);
  let cover: (covered: boolean) => void = () => undefined;
  const response = serve(raw, () => new Promise((resolve) => (cover = resolve)));
  response.finish();
  cover(false);
  await vi.advanceTimersByTimeAsync(0);
  expect(errors).toEqual([]);
});

it('writes nothing after its end by a store that is away, and cuts the client off soon', async () => {
  const { raw, connection } = unread();
  const errors = uncaught(raw);
  serve(raw, () => Promise.reject(new Error('the store is away')));
  await vi.advanceTimersByTimeAsync(60_000);
  expect(errors).toEqual([]);
  expect(connection.destroyed).toBe(true);
});

it('takes every error of its connection', () => {
  const { raw } = unread();
  serve(raw, async () => true);
  for (let n = 0; n < 3; n++) raw.emit('error', new Error('write EPIPE'));
  expect(raw.destroyed).toBe(true);
});
