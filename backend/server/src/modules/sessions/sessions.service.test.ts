import { describe, expect, it } from 'vitest';
import type { Store } from '../../platform/redis.js';
import { SessionsService } from './sessions.service.js';

const session = (lifetime_ms: number) => ({ role: 'viewer' as const, name: 'v', expires_ms: Date.now() + lifetime_ms });
const store = { redis: { del: async () => 1 } } as unknown as Store;

describe('watching a session', () => {
  it('notifies every watcher on expiry', async () => {
    const sessions = new SessionsService(store);
    await Promise.all([1, 2].map(() => new Promise<void>((end) => sessions.watch('t', session(20), end))));
  });

  it('notifies the watchers of a signed-out token once, except those that unsubscribed', async () => {
    const sessions = new SessionsService(store);
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
