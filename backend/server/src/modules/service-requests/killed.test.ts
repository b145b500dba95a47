import { isDeepStrictEqual } from 'node:util';
import { type ChainDefinition, type Plan, ServicePoolDefinition } from '@orrery/contract';
import { poolChain } from '@orrery/planner';
import { afterEach, expect, it, vi } from 'vitest';
import type { LoopRun } from '../../platform/control-loop/definition.js';
import { Collections } from '../../platform/durable-collection/collections.js';
import { makeLog } from '../../platform/log.js';
import type { Store } from '../../platform/redis.js';
import { type End, killedAtEachWrite, MemoryOperations, MemoryStore, writeIn } from '../../testing/killed-story.js';
import { Enforcement } from './enforcement.js';
import { heldRequest } from './pool-view.js';
import { Pools } from './pools.js';
import { Requests } from './requests.js';
import type { StoredPool, StoredRequest } from './stored.js';

const DEFINITION = ServicePoolDefinition.parse({
  name: 'pool',
  title: 'Shared NFs',
  hosts: ['client-1'],
  nfs: [{ nf: 'monitor', count: 1, rate_bps: 100_000_000 }],
});

function requested(n: number): StoredRequest {
  const stage = { nf: 'monitor', place: 'server-1', transit_us: 1, processing_us: 1, measured: false };
  return {
    ...{ id: `sr-${n}`, pool: 'pool', from: ['client-1'], functions: ['monitor'], latency_us: 1000 },
    match: [{ attribute: 'port.dst', op: 'is', value: n }],
    throughput_bps: 1_000_000,
    state: 'requested',
    way: { number: 1, stages: [{ instance: 'monitor-1', ...stage }], latency_us: 2 },
    ...{ why: null, shortages: [], nearest_us: null, rejected: [], operation_id: null, by: 'ann' },
    ...{ created_ms: n, updated_ms: n, place: n, former: null },
  };
}

afterEach(() => void vi.useRealTimers());

/** `ends`: of the first operations; the others come about. */
function newWorld(ends: readonly End[] = []) {
  /** Versions of the pool's chain; what runs or is about to, and what runs. */
  const state = {
    versions: [] as ChainDefinition[],
    coming: null as ChainDefinition | null,
    running: null as ChainDefinition | null,
    /** Whether the instances do. */
    works: true,
    dropped: 0,
    droppedBy: '',
  };
  const planOf = (definition: ChainDefinition | null) =>
    ({ id: 'plan', base_plan: 'plan', definition }) as unknown as Plan;
  const chainOf = (plan: Plan) => (plan as unknown as { definition: ChainDefinition | null }).definition;
  const operations = new MemoryOperations(
    ({ chains: [chain] = [] }) => planOf(chain ? state.versions[chain.version! - 1]! : null),
    (plan) => {
      state.coming = chainOf(plan);
    },
    {
      endOf: (n) => ends[n] ?? 'done',
      comesAbout: (plan) => {
        state.running = chainOf(plan);
      },
      comesToNothing: () => {
        state.coming = state.running;
        return planOf(state.running);
      },
    },
  );
  return { store: new MemoryStore(), state, operations };
}
type World = ReturnType<typeof newWorld>;

/** `chooseAgain`: looks for other ways of requests; how many it found. */
async function server(
  { store, state, operations }: World,
  its: Store,
  chooseAgain: (requests: readonly StoredRequest[]) => Promise<number> = async () => 0,
) {
  const collections = new Collections(its, makeLog('silent'));
  const chains = {
    isNamed: async () => false,
    problemsOf: async () => [],
    keep: async (_: string, definition: ChainDefinition) => {
      if (!isDeepStrictEqual(state.versions.at(-1), definition))
        await writeIn(its, () => void state.versions.push(definition));
      return state.versions.length;
    },
    drop: (_: string, by: string) =>
      writeIn(its, () => {
        state.dropped++;
        state.droppedBy = by;
      }),
  };
  const view = {
    stateOf: ({ instances }: StoredPool) => ({
      all: instances.map(({ id, slot }) => ({ id, slot, instance_id: `pool.${id}.0`, usable: true })),
      state: { instances: state.works ? instances : [] },
    }),
    waysOf: () => ({ kept: [] }),
    deployedOf: () => state.coming,
    isDeployed: () => state.running !== null,
    isLeftOut: () => false,
    isWaiting: false,
  };
  const infrastructure = { current: { infrastructure: { hosts: [{ id: 'client-1' }] } } };
  const poolParts = [collections, chains, infrastructure, store.events];
  const pools = new Pools(...(poolParts as unknown as ConstructorParameters<typeof Pools>));
  const requestParts = [collections, pools, view, store.events];
  const requests = new Requests(...(requestParts as unknown as ConstructorParameters<typeof Requests>));
  await pools.onModuleInit();
  await requests.onModuleInit();
  let look: (run: LoopRun) => Promise<unknown> = async () => undefined;
  const loops = {
    add: ({ run }: { run: typeof look }) => {
      look = run;
      return {};
    },
  };
  const surroundings = { now: () => 'the same' };
  const parts = [
    ...[loops, collections, pools, requests, { chooseAgain }, view, chains, operations.deployer(its), operations.log],
    ...[surroundings, { leaveTo: () => undefined }, { timing: { sloPeriodMs: 1000 } }],
  ];
  const enforcement = new Enforcement(...(parts as unknown as ConstructorParameters<typeof Enforcement>));
  const run = {
    ...{ key: 'pool', signal: new AbortController().signal, decide: () => undefined },
    ...{ step: (work: Promise<unknown>) => work, holdDeadline: () => () => undefined },
  } as unknown as LoopRun;
  /** Operations come about, and the loop looks, until there is nothing to do. */
  const finish = async () => {
    for (let round = 0; round < 8; round++) {
      operations.complete();
      await look(run);
    }
  };
  return { collections, pools, requests, enforcement, finish };
}

it('requests come to run and pools go, each told once, wherever the server is killed', async () => {
  const kills = await killedAtEachWrite<World>({
    world: () => newWorld(),
    play: async (world, its) => {
      const { collections, pools, requests, enforcement, finish } = await server(world, its);
      await pools.create(DEFINITION, 'ann');
      await finish();
      await collections.commit((batch) => [1, 2, 3].forEach((n) => void requests.putIn(batch, requested(n))));
      await finish();
      await requests.release('sr-2', 'ann');
      await finish();
      expect(requests.all().map(({ state }) => state)).toEqual(['active', 'released', 'active']);
      await enforcement.remove('pool', 'ann', true);
      await finish();
    },
    goOn: async (world, its) => (await server(world, its)).finish(),
    check: async ({ store, state, operations }, where) => {
      const { pools, requests } = await server({ store, state, operations }, store.open());
      const all = requests.all();
      const pool = pools.find('pool');
      expect(pool === undefined || (pool.ready && pool.operation_id === null && pool.failed === null), where).toBe(
        true,
      );
      expect(
        all.filter((it) => it.state !== 'active' && it.state !== 'released'),
        where,
      ).toEqual([]);
      // What runs is what is held, and nothing without a pool.
      const held = requests.heldOf('pool');
      const wanted = pool ? poolChain(pool.definition, pool.instances, held.map(heldRequest)) : null;
      expect(state.coming, where).toEqual(wanted);
      if (!pool && where === 'without a kill') expect([held, state.dropped]).toEqual([[], 1]);
      const { 'service-pool.created': created = 0, 'service-pool.removed': gone = 0 } = store.counts;
      expect([created <= 1, created - gone], where).toEqual([true, pool ? 1 : 0]);
      const told = (type: string) =>
        store.told
          .flatMap((event) => (event.type === type ? (event.data as { requests: string[] }).requests : []))
          .sort();
      const ids = all.map(({ id }) => id).sort();
      expect(told('service-request.active'), where).toEqual(ids);
      const released = all.filter((it) => it.state === 'released').map(({ id }) => id);
      expect(told('service-request.released'), where).toEqual(released.sort());
      const names = operations.accepted.map(({ id }) => id);
      expect(new Set(names).size, where).toBe(names.length);
    },
  });
  expect(kills).toBeGreaterThan(30);
});

it('a removal that is refused, fails or is stuck says why it waits, and is asked for again until somebody rolls it back', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const world = newWorld(['done', 'refused', 'failed', 'stuck']);
  const { pools, enforcement, finish } = await server(world, world.store.open());
  await pools.create(DEFINITION, 'ann');
  await finish();
  await enforcement.remove('pool', 'ann', false);
  const later = async (ms: number) => {
    vi.advanceTimersByTime(ms);
    await finish();
    const pool = pools.find('pool');
    return [pool?.removing, enforcement.waitsFor('pool'), world.operations.accepted.length];
  };
  expect(await later(0)).toEqual([true, 'It is refused.', 1]);
  expect(await later(500)).toEqual([true, 'The operation was taken back.', 2]);
  expect(await later(1000)).toEqual([true, 'It is stuck.', 3]);
  expect(await later(60_000)).toEqual([true, 'It is stuck.', 3]);
  world.operations.rollBack(world.operations.accepted.at(-1)!.id, 'ann');
  expect((await later(0))[0]).toBe(false);
  await enforcement.remove('pool', 'ann', false);
  expect(await later(0)).toEqual([undefined, null, 4]);
  expect(world.state.dropped).toBe(1);
});

it('an operation is of who asked for it: the pool, a request, its release, also when tried again, or the end of the pool', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const world = newWorld(['done', 'done', 'failed']);
  const { collections, pools, requests, enforcement, finish } = await server(world, world.store.open());
  await pools.create(DEFINITION, 'alice');
  await finish();
  await collections.commit((batch) => requests.putIn(batch, requested(1)));
  await finish();
  await requests.release('sr-1', 'bob');
  await finish();
  vi.advanceTimersByTime(1000);
  await finish();
  const byNow = () => world.operations.accepted.map(({ id }) => world.operations.log.find(id)?.by);
  expect(byNow()).toEqual(['alice', 'ann', 'bob', 'bob']);
  // Of several it is nobody's, so it is that of who declared the pool.
  await collections.commit((batch) => [2, 3].forEach((n) => void requests.putIn(batch, requested(n))));
  await finish();
  await requests.release('sr-2', 'bob');
  await collections.commit((batch) => requests.putIn(batch, requested(4)));
  await finish();
  expect(byNow().slice(4)).toEqual(['ann', 'alice']);
  await enforcement.remove('pool', 'carol', true);
  await finish();
  expect([byNow().slice(6), world.state.droppedBy]).toEqual([['carol'], 'carol']);
  const ofPool = world.store.told.filter(({ type }) => type.startsWith('service-pool.'));
  expect(ofPool.map(({ type, actor }) => [type, actor])).toEqual([
    ['service-pool.created', 'alice'],
    ['service-pool.removing', 'carol'],
    ['service-pool.removed', 'carol'],
  ]);
});

it('those of a state that are forgotten are those that came to it by then, whatever they were asked for before', async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: 10_000 });
  const world = newWorld();
  const { collections, pools, requests } = await server(world, world.store.open());
  await pools.create(DEFINITION, 'ann');
  const released = (n: number, updated_ms: number) => ({ ...requested(n), state: 'released' as const, updated_ms });
  await collections.commit((batch) => {
    // The last one was released before the clock was set back.
    for (const it of [released(1, 9000), released(2, 5000), released(3, 90_000)]) requests.putIn(batch, it);
    requests.putIn(batch, requested(4));
  });
  await requests.dismiss({ state: 'released', until: 5000 }, 'ann');
  expect(requests.all().map(({ id }) => id)).toEqual(['sr-4', 'sr-1']);
  await requests.dismiss({ state: 'released' }, 'ann');
  expect(requests.all().map(({ id }) => id)).toEqual(['sr-4']);
});

it('other ways are looked for in the order in which requests came, also of those in one call', async () => {
  const world = newWorld();
  const asked: string[] = [];
  const { collections, pools, requests, finish } = await server(world, world.store.open(), async (those) => {
    asked.push(...those.map(({ id }) => id));
    return 0;
  });
  await pools.create(DEFINITION, 'ann');
  const bulk = [1, 2, 3].map((n) => ({ ...requested(n), created_ms: 5 }));
  await collections.commit((batch) => bulk.forEach((it) => void requests.putIn(batch, it)));
  await collections.commit((batch) => requests.putIn(batch, { ...requested(4), place: 0 }));
  await finish();
  world.state.works = false;
  await finish();
  expect(asked.slice(0, 4)).toEqual(['sr-1', 'sr-2', 'sr-3', 'sr-4']);
});

it('a pool that is to go while other ways are looked for begins no other operation than that', async () => {
  const world = newWorld();
  const { collections, pools, requests, enforcement, finish } = await server(
    world,
    world.store.open(),
    async (): Promise<number> => {
      await enforcement.remove('pool', 'ann', true);
      return 0;
    },
  );
  const { chain_id } = await pools.create(DEFINITION, 'ann');
  await collections.commit((batch) => requests.putIn(batch, requested(1)));
  await finish();
  const before = world.operations.accepted.length;
  world.state.works = false;
  await finish();
  expect(world.operations.accepted.slice(before).map(({ request }) => request)).toEqual([{ remove: [chain_id] }]);
  expect(pools.find('pool')).toBeUndefined();
});

it('a pool that is to go before its next operation was asked for begins no other operation than that', async () => {
  const world = newWorld();
  const { collections, pools, requests, enforcement, finish } = await server(world, world.store.open());
  const { chain_id } = await pools.create(DEFINITION, 'ann');
  await collections.commit((batch) => requests.putIn(batch, requested(1)));
  await finish();
  const before = world.operations.accepted.length;
  // As a server that is killed then has stored it.
  const operations = before + 1;
  const begun = { ...pools.get('pool'), operations, operation_id: `op-${chain_id}-${operations}` };
  await collections.commit((batch) => pools.putIn(batch, begun));
  await enforcement.remove('pool', 'ann', true);
  await finish();
  expect(world.operations.accepted.slice(before).map(({ request }) => request)).toEqual([{ remove: [chain_id] }]);
  expect(pools.find('pool')).toBeUndefined();
});
