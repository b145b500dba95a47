import { statSync } from 'node:fs';
import { join } from 'node:path';
import { ROUTES, type Role, type RouteName } from '@orrery/contract';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { renewAdminSecret } from './modules/sessions/admin-secret.js';
import { TestServer } from './testing/server.js';

let server: TestServer;
beforeEach(async () => {
  server = await TestServer.start();
});
afterEach(() => server.stop());

const ORDER: Role[] = ['viewer', 'operator', 'designer', 'admin'];

describe('the admin secret', () => {
  it('is created on the first run only, readable by its owner only', async () => {
    expect(server.running.firstRunSecret).toBe(server.scratch.secret);
    expect(statSync(join(server.scratch.stateDir, 'admin-secret')).mode & 0o777).toBe(0o600);
    const stored = await server.running.store.redis.get('orrery:auth:admin');
    expect(stored).not.toMatch(server.scratch.secret);
    const { scratch } = server;
    await server.pause();
    server = await TestServer.start({}, scratch);
    expect(server.running.firstRunSecret).toBeNull();
  });

  it('can be replaced, which ends every session', async () => {
    const { store } = server.running;
    const before = server.scratch.secret;
    await renewAdminSecret(store, server.scratch.stateDir);
    expect(server.scratch.secret).not.toBe(before);
    const told = { status: 401, body: { errors: [{ header: 'authorization', code: 'unknown' }] } };
    expect(await server.api.request('getSession')).toMatchObject(told);
    const old = await server.api.as(null).request('createSession', { body: JSON.stringify({ secret: before }) });
    expect(old.status).toBe(401);
    expect(await (await server.session('viewer')).call('getSession')).toMatchObject({ role: 'viewer' });
  });

  it('is protected against guessing', async () => {
    const guess = (secret: string) =>
      server.api.as(null).request('createSession', { body: JSON.stringify({ secret }) });
    const statuses: number[] = [];
    while (!statuses.includes(429) && statuses.length < 100) statuses.push((await guess('wrong')).status);
    expect(statuses.slice(0, 10)).toEqual(Array(10).fill(401));
    expect(statuses.at(-1)).toBe(429);
    const blocked = await guess(server.scratch.secret);
    expect(blocked.status).toBe(429);
    expect(Number(blocked.headers.get('retry-after'))).toBeGreaterThan(0);
  });
});

describe('sessions', () => {
  it('are stored as hashes, end on sign-out, and survive a restart', async () => {
    const keys = await server.running.store.redis.keys('orrery:auth:session:*');
    expect(keys).toHaveLength(1);
    expect(keys[0]).not.toContain(server.api.token);
    const { scratch, api } = server;
    await server.pause();
    server = await TestServer.start({}, scratch);
    const old = server.api.as(api.token);
    expect(await old.call('getSession')).toMatchObject({ role: 'admin' });
    await old.call('deleteSession');
    const told = { status: 401, body: { errors: [{ header: 'authorization', code: 'signed-out' }] } };
    expect(await old.request('getSession')).toMatchObject(told);
  });

  it.each(ORDER)('with role %s may call exactly the routes that the route table allows', async (role) => {
    const api = await server.session(role);
    for (const [name, route] of Object.entries(ROUTES)) {
      if (name === 'deleteSession' || name === 'streamEvents' || route.role === null) continue;
      const { status } = await api.request(name as RouteName, { query: { keys: 'x', name: 'x' } });
      const allowed = ORDER.indexOf(role) >= ORDER.indexOf(route.role);
      expect(status === 403, `${name} answered ${status}`).toBe(!allowed);
    }
  });

  it.each(['', 'Bearer', 'Bearer wrong', 'Basic YTpi', `Bearer ${'x'.repeat(5000)}`])(
    'are not granted for "%.20s"',
    async (authorization) => {
      const answer = await server.api.as(null).request('getHealth', { headers: { authorization } });
      expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
    },
  );
});
