import { ReconfigurationPolicyRequest } from '@orrery/contract';
import { expect, it } from 'vitest';
import { Collections } from '../../../platform/durable-collection/collections.js';
import type { Log } from '../../../platform/log.js';
import type { Store } from '../../../platform/redis.js';
import type { EventLog } from '../../../ports/event-log.js';
import { Policies } from './policies.js';

const request = (title: string, node_id: string, displaces: string[] = []) =>
  ReconfigurationPolicyRequest.parse({
    title,
    nf: { chain_id: 'ch-1', node_id },
    threshold: { metric: 'pps', up: 2, down: 1 },
    displaces: displaces.map((chain_id) => ({ chain_id, node_id: 'nf' })),
  });

/** Policies whose writes can be held back and released. */
function held() {
  let gate: Promise<void> = Promise.resolve();
  let release = () => {};
  const transact = () => gate;
  const store = { transact, redis: { hgetall: async () => ({}) } } as unknown as Store;
  const policies = new Policies(new Collections(store, {} as Log), {} as EventLog);
  const hold = () => {
    gate = new Promise((resolve) => {
      release = resolve;
    });
  };
  return { policies, hold, release: () => release() };
}

const free = () => undefined;

it('keeps a concurrent user change while a deleted chain is removed from a policy', async () => {
  const { policies, hold, release } = held();
  await policies.add(request('first', 'a', ['ch-gone']), 'user');
  await policies.add(request('second', 'b', ['ch-gone']), 'user');
  hold();
  const forgotten = policies.forget('ch-gone');
  const replaced = policies
    .all()
    .map(({ id, nf }) => policies.replace(id, request('mine', nf.node_id), null, 'user', free));
  release();
  await Promise.all([forgotten, ...replaced]);
  expect(policies.all().map(({ title, displaces }) => [title, displaces])).toEqual([
    ['mine', []],
    ['mine', []],
  ]);
});

it('does not restore a concurrently removed policy, and checks against the current state', async () => {
  const { policies, hold, release } = held();
  const { id } = await policies.add(request('old', 'a', ['ch-gone']), 'user');
  hold();
  const forgotten = policies.forget('ch-gone');
  let known: unknown;
  const replaced = policies.replace(id, request('new', 'a'), null, 'user', ({ displaces }) => {
    known = displaces;
  });
  const removed = policies.remove(id, null, 'user');
  const late = policies.replace(id, request('late', 'a'), null, 'user', free);
  release();
  await Promise.all([forgotten, replaced, removed]);
  expect(known).toEqual([]);
  await expect(late).rejects.toMatchObject({ status: 404 });
  expect(policies.all()).toEqual([]);
});
