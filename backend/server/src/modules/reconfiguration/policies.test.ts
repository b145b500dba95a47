import { ReconfigurationPolicyRequest } from '@orrery/contract';
import { expect, it } from 'vitest';
import type { Store } from '../../platform/redis.js';
import type { EventLog } from '../../ports/event-log.js';
import { Policies } from './policies.js';

const request = (title: string, node_id: string, displaces: string[] = []) =>
  ReconfigurationPolicyRequest.parse({
    title,
    nf: { pipeline_id: 'pl-1', node_id },
    threshold: { metric: 'pps', up: 2, down: 1 },
    displaces: displaces.map((pipeline_id) => ({ pipeline_id, node_id: 'nf' })),
  });

/** Policies whose writes wait, once held, until they are let go. */
function held() {
  let gate: Promise<void> = Promise.resolve();
  let release = () => {};
  const transact = () => gate;
  const policies = new Policies({ transact } as unknown as Store, {} as EventLog);
  const hold = () => {
    gate = new Promise((resolve) => {
      release = resolve;
    });
  };
  return { policies, hold, release: () => release() };
}

const free = () => undefined;

it('keeps what a user makes of a policy while a deleted chain is taken out of it', async () => {
  const { policies, hold, release } = held();
  await policies.add(request('first', 'a', ['pl-gone']), 'user');
  await policies.add(request('second', 'b', ['pl-gone']), 'user');
  hold();
  const forgotten = policies.forget('pl-gone');
  const replaced = policies.all().map(({ id, nf }) => policies.replace(id, request('mine', nf.node_id), 'user', free));
  release();
  await Promise.all([forgotten, ...replaced]);
  expect(policies.all().map(({ title, displaces }) => [title, displaces])).toEqual([
    ['mine', []],
    ['mine', []],
  ]);
});

it('does not bring back a policy that was removed meanwhile, and checks against what is there by then', async () => {
  const { policies, hold, release } = held();
  const { id } = await policies.add(request('old', 'a', ['pl-gone']), 'user');
  hold();
  const forgotten = policies.forget('pl-gone');
  let known: unknown;
  const replaced = policies.replace(id, request('new', 'a'), 'user', ({ displaces }) => {
    known = displaces;
  });
  const removed = policies.remove(id, 'user');
  const late = policies.replace(id, request('late', 'a'), 'user', free);
  release();
  await Promise.all([forgotten, replaced, removed]);
  expect(known).toEqual([]);
  await expect(late).rejects.toMatchObject({ status: 404 });
  expect(policies.all()).toEqual([]);
});
