import type { Plan } from '@orrery/contract';
import { expect, it, vi } from 'vitest';
import { Collections } from '../../platform/durable-collection/collections.js';
import { makeLog } from '../../platform/log.js';
import type { Store } from '../../platform/redis.js';
import { KEYS } from '../../platform/redis-keys.js';
import type { DeploymentView } from '../../ports/deployment-view.js';
import type { PlanShelves } from '../../ports/plan-shelves.js';
import { killedAtEachWrite, MemoryOperations, MemoryStore } from '../../testing/killed-story.js';
import { LeaseBookService } from '../leases/lease-book.service.js';
import { Applier } from './applier.js';
import { placementOf } from './placement.js';
import { type Proposal, UpkeepRecords } from './records.js';

const planAt = (server: string) =>
  ({
    id: `plan-${server}`,
    graph: { nodes: [{ kind: 'nf', id: 'a.fw.0', server }], edges: [] },
    chains: [{ chain_id: 'a', version: 1, definition: { nodes: [] } }],
  }) as unknown as Plan;
const PROPOSAL: Proposal = {
  placement: placementOf(planAt('server-1')),
  plan_id: 'plan-server-2',
  advised_ms: 1,
  moves: [{ instance: 'a.fw.0', server: 'server-2' }],
  chains: ['a'],
  gain: { cross_traffic_bps: 1e6, cross_traffic_percent: 50, cores: 0, overloaded_cores: 0, objectives: 0 },
  disruption: {
    moved: [{ instance: 'a.fw.0', from: 'server-1', to: 'server-2' }],
    ...{ flows: null, states_moved: 1, states_lost: 0, seconds: null },
  },
  why: 'less traffic',
};

const HOUR_MS = 3_600_000;

function newWorld() {
  const coming = { plan: planAt('server-1') };
  const operations = new MemoryOperations(
    () => planAt('server-2'),
    (plan) => {
      coming.plan = plan;
    },
  );
  return { store: new MemoryStore(), coming, operations };
}
type World = ReturnType<typeof newWorld>;

async function server({ store, coming, operations }: World, its: Store) {
  const collections = new Collections(its, makeLog('silent'));
  const leases = new LeaseBookService(collections);
  const records = new UpkeepRecords(collections, store.events, leases, {
    holdIn: () => undefined,
  } as unknown as PlanShelves);
  await leases.onModuleInit();
  await records.onModuleInit();
  const view = {
    get comingPlan() {
      return coming.plan;
    },
  } as unknown as DeploymentView;
  return { leases, records, applier: new Applier(records, operations.deployer(its), view, operations.log) };
}

it('an advice that is applied is applied and told once, or not at all, wherever the server is killed', async () => {
  const kills = await killedAtEachWrite<World>({
    world: newWorld,
    play: async (world, its) => {
      const { records, applier } = await server(world, its);
      await records.propose(PROPOSAL);
      await applier.apply('ann', null);
      world.operations.complete();
      await applier.settle();
    },
    goOn: async (world, its) => {
      const { applier } = await server(world, its);
      for (let look = 0; look < 3; look++) {
        await applier.settle();
        world.operations.complete();
      }
    },
    check: async (world, where) => {
      const { records, leases } = await server(world, world.store.open());
      const isApplied = world.operations.accepted.length > 0;
      expect(world.operations.accepted.length, where).toBeLessThanOrEqual(1);
      expect(world.store.counts, where).toEqual(isApplied ? { 'upkeep.applied': 1 } : {});
      expect(leases.all(), where).toEqual([]);
      expect(records.advice.applying, where).toBeNull();
      if (isApplied) expect(records.advice.proposal, where).toBeNull();
      if (where === 'without a kill') expect(isApplied).toBe(true);
    },
  });
  expect(kills).toBe(8);
});

it('what was dismissed is, for as long as was asked for, also where the wall clock is set back', async () => {
  vi.useFakeTimers({ toFake: ['performance', 'Date'] });
  try {
    const world = newWorld();
    const { records } = await server(world, world.store.open());
    await records.propose(PROPOSAL);
    await records.dismiss(1, null);
    expect(records.dismissedUntilMs).toBe(Date.now() + 3_600_000);
    vi.setSystemTime(Date.now() - 86_400_000);
    vi.advanceTimersByTime(3_599_000);
    expect(records.dismissedUntilMs).not.toBeNull();
    vi.advanceTimersByTime(1000);
    expect(records.dismissedUntilMs).toBeNull();
  } finally {
    vi.useRealTimers();
  }
});

it('what was dismissed is for no longer than was asked for, also where a server is started by a clock that is behind', async () => {
  vi.useFakeTimers({ toFake: ['performance', 'Date'] });
  try {
    const world = newWorld();
    const before = await server(world, world.store.open());
    await before.records.propose(PROPOSAL);
    await before.records.dismiss(8, null);
    const nowMs = Date.now() + 86_400_000;
    vi.setSystemTime(nowMs - 2 * 86_400_000);
    const { records } = await server(world, world.store.open());
    expect(records.dismissedUntilMs).toBe(Date.now() + 8 * 3_600_000);
    vi.advanceTimersByTime(20_000);
    // The clock is set right, and tells when that ends.
    vi.setSystemTime(nowMs);
    expect(records.dismissedUntilMs).toBe(nowMs + 8 * 3_600_000 - 20_000);
    vi.advanceTimersByTime(8 * 3_600_000 - 20_000);
    expect(records.dismissedUntilMs).toBeNull();
  } finally {
    vi.useRealTimers();
  }
});

it('what was left of a dismissal is known to a server that is started by a clock that is behind, and that it was over', async () => {
  vi.useFakeTimers({ toFake: ['performance', 'Date'] });
  try {
    const world = newWorld();
    const restarted = async () => {
      vi.setSystemTime(Date.now() - 30 * HOUR_MS);
      return (await server(world, world.store.open())).records;
    };
    let { records } = await server(world, world.store.open());
    await records.propose(PROPOSAL);
    await records.dismiss(24, null);
    const pass = async (hours: number) => {
      for (let minute = 0; minute < 60 * hours; minute += 5) {
        vi.advanceTimersByTime(300_000);
        await records.keepDismissal();
      }
    };
    await pass(20);
    for (const most of [4 * HOUR_MS, 4 * HOUR_MS]) {
      records = await restarted();
      expect(records.dismissedUntilMs! - Date.now()).toBe(most);
    }
    await pass(4);
    expect(records.dismissedUntilMs).toBeNull();
    records = await restarted();
    expect([records.dismissedUntilMs, records.advice.dismissed]).toEqual([null, null]);
  } finally {
    vi.useRealTimers();
  }
});

it('what an earlier server has stored as dismissed is, until then', async () => {
  vi.useFakeTimers({ toFake: ['performance', 'Date'] });
  try {
    const world = newWorld();
    const until = { proposal: null, applying: null, refusal: null, dismissed_until_ms: Date.now() + 3_600_000 };
    const text = JSON.stringify({ version: 2, revision: 1, value: { id: 'advice', ...until } });
    const store = world.store.open();
    await store.transact((transaction) => transaction.hset(KEYS.placementAdvice, new Map([['advice', text]])));
    const { records } = await server(world, store);
    expect(records.dismissedUntilMs).toBe(Date.now() + 3_600_000);
  } finally {
    vi.useRealTimers();
  }
});
