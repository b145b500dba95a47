import { EventEmitter } from 'node:events';
import { expect, it, onTestFinished, vi } from 'vitest';
import type { WebSocket } from 'ws';
import type { CallMethod } from '../../ports/node-fleet.js';
import { AgentConnection, type ConnectionHandlers } from './agent-connection.js';

it.each<[CallMethod, number]>([
  ['get_instance_state', 10_000],
  ['export_state', 30_000],
  ['import_state', 30_000],
])('waits for %s longer than an agent does (%i ms), but not for ever', async (method, agentLimitMs) => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const socket = Object.assign(new EventEmitter(), { OPEN: 1, readyState: 1, bufferedAmount: 0, send: vi.fn() });
  const settings = { serverVersion: '1', pingMs: 3_600_000 };
  const calling = new AgentConnection(
    Object.assign(socket, { terminate: vi.fn() }) as unknown as WebSocket,
    settings,
    {} as ConnectionHandlers,
  ).call(method, 'p.nat.0', {});
  const failed = vi.fn();
  calling.catch(failed);
  await vi.advanceTimersByTimeAsync(agentLimitMs);
  expect(failed).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(agentLimitMs);
  expect(failed).toHaveBeenCalledWith(
    expect.objectContaining({ message: expect.stringContaining('no answer in time') }),
  );
});
