import type { Infrastructure } from '@orrery/contract';
import { expect, it } from 'vitest';
import { Collections } from '../../platform/durable-collection/collections.js';
import type { Log } from '../../platform/log.js';
import { unavailable } from '../../platform/problem.js';
import type { Store, Transaction } from '../../platform/redis.js';
import { KEYS } from '../../platform/redis-keys.js';
import type { DeploymentView } from '../../ports/deployment-view.js';
import type { EventLog } from '../../ports/event-log.js';
import { RACK } from '../../testing/fixtures.js';
import { InfrastructureService } from './infrastructure.service.js';

/** A store of strings whose replies can be lost. */
function bench() {
  const stored = new Map<string, string>();
  const fault = { losesReply: false, isAway: false };
  const store = {
    json: async (key: string) => {
      if (fault.isAway) throw new Error('Connection is closed.');
      return JSON.parse(stored.get(key) ?? 'null');
    },
    transact: async (fill: (transaction: Transaction) => void) => {
      fill({ set: (key: string, value: string) => stored.set(key, value) } as unknown as Transaction);
      if (fault.losesReply) throw unavailable('The reply was lost.');
      return [];
    },
  } as unknown as Store;
  const inUse = { servers: new Set<string>(), hosts: new Set<string>() };
  const view = { serversInUse: () => inUse.servers, hostsInUse: () => inUse.hosts } as unknown as DeploymentView;
  const collections = new Collections(store, {} as Log);
  const events = { appendIn: () => undefined } as unknown as EventLog;
  const service = new InfrastructureService(store, collections, events, view);
  const told: number[] = [];
  service.onChange(() => told.push(service.current.revision));
  const inRedis = () => JSON.parse(stored.get(KEYS.infrastructure)!) as typeof service.current;
  return { service, fault, inUse, told, inRedis };
}

const named = (name: string): Infrastructure => ({ ...RACK, name });

it.each(['servers', 'hosts'] as const)(
  'keeps %s of a deployment that is accepted while it is checked',
  async (kind) => {
    const { service, inUse } = bench();
    await service.replace(RACK, null, 'test');
    const [gone] = RACK[kind];
    service.checkBy(async () => {
      inUse[kind].add(gone!.id);
      return [];
    });
    const links = RACK.links.filter(({ a, b }) => a.node !== gone!.id && b.node !== gone!.id);
    const smaller = { ...RACK, links, [kind]: RACK[kind].slice(1) };
    await expect(service.replace(smaller, null, 'test')).rejects.toMatchObject({
      status: 409,
      errors: [{ pointer: `/${kind}`, code: 'in-use' }],
    });
    expect(service.current.revision).toBe(1);
  },
);

it('reads again what was stored without a reply, and gives its revision to nothing else', async () => {
  const { service, fault, told, inRedis } = bench();
  await service.replace(RACK, null, 'test');
  fault.losesReply = true;
  await expect(service.replace(named('second'), null, 'test')).rejects.toMatchObject({ status: 503 });
  expect(service.current).toEqual({ revision: 2, infrastructure: named('second') });
  expect(told).toEqual([1, 2]);
  fault.losesReply = false;
  await expect(service.replace(named('third'), '1', 'test')).rejects.toMatchObject({ status: 412 });
  await service.replace(named('third'), '2', 'test');
  expect(service.current).toEqual(inRedis());
  expect(inRedis().revision).toBe(3);
});

it('reads again before the next change if the store was away', async () => {
  const { service, fault, told, inRedis } = bench();
  await service.replace(RACK, null, 'test');
  Object.assign(fault, { losesReply: true, isAway: true });
  await expect(service.replace(named('second'), null, 'test')).rejects.toMatchObject({ status: 503 });
  fault.losesReply = false;
  await expect(service.replace(named('third'), null, 'test')).rejects.toThrow('Connection is closed.');
  fault.isAway = false;
  await expect(service.replace(named('third'), '1', 'test')).rejects.toMatchObject({ status: 412 });
  expect(service.current).toEqual(inRedis());
  expect(told).toEqual([1, 2]);
});
