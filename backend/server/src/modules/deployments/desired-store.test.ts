import type { NodeSpec, Plan } from '@orrery/contract';
import { expect, it, vi } from 'vitest';
import type { Collections } from '../../platform/durable-collection/collections.js';
import type { Store } from '../../platform/redis.js';
import { KEYS } from '../../platform/redis-keys.js';
import type { EventLog } from '../../ports/event-log.js';
import type { OperationLog } from '../../ports/operation-log.js';
import type { PlanShelves } from '../../ports/plan-shelves.js';
import { type Accepted, DesiredStore } from './desired-store.js';

const operation = { id: 'op-1', plan_id: 'plan-1' } as Accepted['operation'];

/** A store whose queue contains the operation, or has none. */
function bench(texts: Readonly<Record<string, string>>, known: boolean, shelves = {} as PlanShelves, queued = true) {
  const store = {
    json: async (key: string) => JSON.parse(texts[key] ?? 'null'),
    redis: { lrange: async () => (queued ? [operation.id] : []), get: async (key: string) => texts[key] ?? null },
  } as unknown as Store;
  const collections = { open: () => ({ all: () => [] }), certain: async () => undefined } as unknown as Collections;
  const operations = { find: () => (known ? operation : undefined) } as unknown as OperationLog;
  return new DesiredStore(store, collections, operations, {} as EventLog, shelves);
}

const node = (hops: number) => ({ instances: [], exits: [], hops: Array(hops).fill({}) }) as unknown as NodeSpec;
const PLAN = {
  id: 'plan-1',
  nodes: { 'server-1': node(1), 'server-2': node(0) },
  fabric: { generation: 1, rules: [{ from_hosts: ['client-1'] }] },
} as unknown as Plan;

it('counts the servers and hosts of operations that still wait as in use', async () => {
  const store = bench({ [KEYS.plan('plan-1')]: JSON.stringify(PLAN) }, true);
  await store.onModuleInit();
  expect([...store.serversInUse()]).toEqual(['server-1']);
  expect([...store.hostsInUse()]).toEqual(['client-1']);
});

it('accepts no plan that is not stored any more, and goes on as before', async () => {
  const putBack = vi.fn();
  const store = bench({}, true, { claim: async (ids: string[]) => ids, putBack } as unknown as PlanShelves, false);
  await store.onModuleInit();
  const accept = { operation: { id: 'op-2' }, plan: PLAN } as Accepted;
  await expect(store.commit(() => ({ accept }))).rejects.toMatchObject({ status: 409 });
  expect(store.queue).toEqual([]);
  expect(putBack).not.toHaveBeenCalled();
});

it.each([
  ['an accepted operation', { [KEYS.plan('plan-1')]: JSON.stringify(PLAN) }, false, /operation op-1 .* cannot be read/],
  ['the plan of an accepted operation', {}, true, /plan plan-1 .* cannot be read: it is missing/],
  ['a broken plan', { [KEYS.plan('plan-1')]: '{' }, true, /plan plan-1 .* cannot be read/],
  ['the running plan', { [KEYS.desired]: JSON.stringify({ plan_id: 'plan-0' }) }, true, /plan plan-0 .* it is missing/],
] as const)('does not start without %s', async (_, texts, known, message) => {
  await expect(bench(texts, known).onModuleInit()).rejects.toThrow(message);
});
