import { EventEmitter } from 'node:events';
import { expect, it, onTestFinished, vi } from 'vitest';
import type { WebSocket } from 'ws';
import { type CallMethod, LostReply } from '../../ports/node-fleet.js';
import { AgentConnection, type ConnectionHandlers } from './agent-connection.js';

function connect(): AgentConnection {
  const socket = Object.assign(new EventEmitter(), { OPEN: 1, readyState: 1, bufferedAmount: 0, send: vi.fn() });
  return new AgentConnection(
    Object.assign(socket, { terminate: vi.fn() }) as unknown as WebSocket,
    { address: '192.0.2.1', receivedBytes: () => 0, admit: vi.fn(), dismiss: vi.fn() },
    { serverVersion: '1', pingMs: 3_600_000 },
    {} as ConnectionHandlers,
  );
}

it('waits for no call that was cancelled, and makes none afterwards', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const connection = connect();
  const cancel = new AbortController();
  const calling = connection.call('export_state', 'p.nat.0', {}, cancel.signal);
  cancel.abort(new Error('took too long'));
  await expect(calling).rejects.toMatchObject({ message: expect.stringContaining('cancelled') });
  await expect(calling).rejects.toBeInstanceOf(LostReply);
  expect(() => connection.call('import_state', 'p.nat.0', {}, cancel.signal)).toThrow('took too long');
});

it.each<[CallMethod, number]>([
  ['get_instance_state', 10_000],
  ['export_state', 30_000],
  ['import_state', 30_000],
])('waits for %s longer than an agent does (%i ms), but not for ever', async (method, agentLimitMs) => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const calling = connect().call(method, 'p.nat.0', {});
  const failed = vi.fn();
  calling.catch(failed);
  await vi.advanceTimersByTimeAsync(agentLimitMs);
  expect(failed).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(agentLimitMs);
  expect(failed).toHaveBeenCalledWith(
    expect.objectContaining({ message: expect.stringContaining('no answer in time') }),
  );
  expect(failed.mock.calls[0]![0]).toBeInstanceOf(LostReply);
});
