import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { ProblemError } from '../../platform/problem.js';
import type { Store } from '../../platform/redis.js';
import { SessionsService } from './sessions.service.js';

const session = (lifetime_ms: number) => ({ role: 'viewer' as const, name: 'v', expires_ms: Date.now() + lifetime_ms });
const store = { redis: { del: async () => 1 } } as unknown as Store;

describe('a session', () => {
  it('that was closed while it was read is not valid afterwards', async () => {
    let answer: (value: unknown) => void = () => undefined;
    const slow = {
      redis: { del: async () => 1 },
      json: () => new Promise((resolve) => (answer = resolve)),
    } as unknown as Store;
    const sessions = new SessionsService(slow, { append: vi.fn(), appendIn: vi.fn() });
    const during = sessions.verify('t');
    await sessions.close('t');
    answer(session(60_000));
    await during;
    const after = sessions.verify('t');
    answer(null);
    expect(await after).toBeNull();
  });
});

it('wrong secrets make their address wait no longer because the clock was set back', async () => {
  vi.useFakeTimers({ toFake: ['Date', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const empty = { redis: { get: async () => null } } as unknown as Store;
  const sessions = new SessionsService(empty, { append: vi.fn(), appendIn: vi.fn() });
  const status = async () => {
    const answer = await sessions.open({ secret: 'wrong' }, '192.0.2.1').catch((error: unknown) => error);
    return answer instanceof ProblemError ? answer.status : null;
  };
  for (let attempt = 0; attempt < 10; attempt++) expect(await status()).toBe(401);
  expect(await status()).toBe(429);
  vi.setSystemTime(Date.now() - 3_600_000);
  vi.advanceTimersByTime(6000);
  expect(await status()).toBe(401);
});

describe('watching a session', () => {
  it('notifies every watcher on expiry', async () => {
    const sessions = new SessionsService(store, { append: vi.fn(), appendIn: vi.fn() });
    await Promise.all([1, 2].map(() => new Promise<void>((end) => sessions.watch('t', session(20), end))));
  });

  it('notifies the watchers of a signed-out token once, except those that unsubscribed', async () => {
    const sessions = new SessionsService(store, { append: vi.fn(), appendIn: vi.fn() });
    const told: string[] = [];
    const watch = (token: string, name: string) => sessions.watch(token, session(60_000), () => told.push(name));
    watch('a', 'first');
    watch('a', 'second')();
    const other = watch('b', 'other');
    await sessions.close('a');
    await sessions.close('a');
    expect(told).toEqual(['first']);
    other();
  });
});
