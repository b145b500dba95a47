import type { ChainProblem } from '@orrery/contract';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { monitorChain } from '../../testing/fixtures.js';
import { TestServer } from '../../testing/server.js';
import { until } from '../../testing/wait.js';
import { ChainChecker } from './chain-checker.js';

let server: TestServer;
beforeAll(async () => {
  server = await TestServer.start({ twin: true });
  await server.bringUp();
});
afterAll(() => server.stop());
afterEach(() => void vi.restoreAllMocks());

/** From now on checks wait until they are let go, and then find nothing. */
function heldChecks(): { readonly waiting: () => number; readonly release: () => void } {
  const held: ((found: ChainProblem[]) => void)[] = [];
  vi.spyOn(ChainChecker.prototype, 'problemsOf').mockImplementation(() => new Promise((resolve) => held.push(resolve)));
  const release = () => {
    for (const resolve of held.splice(0)) resolve([]);
  };
  return { waiting: () => held.length, release };
}

describe('while a draft is checked', () => {
  it.each([
    ['publication', async (id: string) => server.api.request('publishChain', { params: { id }, body: '{}' })],
    [
      'deployment',
      async (id: string) => server.api.request('createDeployment', { body: JSON.stringify({ chain_id: id }) }),
    ],
  ])('for its %s, chains can be written, and a change of the draft is not lost', async (what, begin) => {
    const { id, revision } = await server.api.call('createChain', { body: monitorChain(`first-${what}`) });
    const { waiting, release } = heldChecks();
    const answer = begin(id);
    await until('the check', () => waiting() > 0);
    const other = await server.api.call('createChain', { body: monitorChain(`other-${what}`) });
    await server.api.call('deleteChain', { params: { id: other.id } });
    const body = { ...monitorChain(`first-${what}`), title: 'Another title' };
    await server.api.call('putChain', { params: { id }, body, headers: { 'if-match': `"${revision}"` } });
    release();
    expect((await answer).status).toBe(409);
    expect((await server.api.call('getChain', { params: { id } })).versions).toEqual([]);
  });
});
