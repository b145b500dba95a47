import { describe, expect, it, vi } from 'vitest';
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
