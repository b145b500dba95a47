import { type Infrastructure, nfInstances, type Plan } from '@orrery/contract';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { LoopRun } from '../../platform/control-loop/definition.js';
import { Collections } from '../../platform/durable-collection/collections.js';
import { makeLog } from '../../platform/log.js';
import type { Store } from '../../platform/redis.js';
import type { PlanChange } from '../../ports/deployer.js';
import { killedAtEachWrite, MemoryOperations, MemoryStore } from '../../testing/killed-story.js';
import { Accounts } from './accounts.js';
import { Healer } from './healer.js';
import { Keepers } from './keepers.js';
import { HealingRecords } from './records.js';
import { Redeployment } from './redeployment.js';

/** Each has room for one chain. */
const SERVERS = ['server-1', 'server-2'];
/** The most important first. */
const CHAINS = ['high', 'low'];
/** Seconds in which the first server is away. */
const AWAY = { from: 3, to: 60 };
const END_S = 160;

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance', 'Date'] }));
afterEach(() => void vi.useRealTimers());

type Places = Readonly<Record<string, string>>;

function planOf(id: string, base: Plan | null, places: Places, left: readonly string[]): Plan {
  const chains = Object.keys(places);
  return {
    ...{ id, base_plan: base?.id ?? null, feasible: true, problems: [] },
    chains: chains.map((chain_id) => ({ chain_id, version: 1 })),
    graph: {
      nodes: chains.map((chain_id) => ({
        ...{ kind: 'nf', id: `${chain_id}.fw.0`, chain_id, node_id: 'fw', pgraph_node: `${chain_id}.fw` },
        server: places[chain_id],
      })),
      edges: [],
    },
    not_kept: left.map((chain_id) => ({ chain_id, slo_id: null, priority: 10, because: 'no room', constraint: null })),
  } as unknown as Plan;
}

const placesOf = (plan: Plan): Places =>
  Object.fromEntries(nfInstances(plan.graph).map(({ chain_id, server }) => [chain_id, server]));

/** A server that is away from one second to another, while the chains on it and beside it are planned for one server each. */
class World {
  readonly store = new MemoryStore();
  readonly plans = new Map<string, Plan>();
  readonly operations = new MemoryOperations(
    (request) => this.planFor(request),
    (plan) => {
      this.coming = plan;
    },
  );
  coming = planOf('plan-0', null, { high: 'server-1', low: 'server-2' }, []);
  second = 0;
  /** What the records of the server that lives keep plans away from. */
  excluded: () => readonly string[] = () => [];

  constructor() {
    this.plans.set(this.coming.id, this.coming);
  }

  isWell(server: string): boolean {
    return server !== 'server-1' || this.second < AWAY.from || this.second >= AWAY.to;
  }

  planFor({ move = [], chains = [] }: PlanChange): Plan {
    const before = placesOf(this.coming);
    const wanted = CHAINS.filter((id) => before[id] !== undefined || chains.some(({ chain_id }) => chain_id === id));
    const places: Record<string, string> = {};
    for (const id of wanted) {
      const free = SERVERS.filter(
        (server) => !this.excluded().includes(server) && !Object.values(places).includes(server),
      );
      const asked = move.find(({ instance }) => instance === `${id}.fw.0`)?.server ?? before[id];
      const place = free.find((server) => server === asked) ?? free[0];
      if (place !== undefined) places[id] = place;
    }
    const left = wanted.filter((id) => places[id] === undefined);
    const plan = planOf(`plan-${this.plans.size}`, this.coming, places, left);
    this.plans.set(plan.id, plan);
    return plan;
  }
}

async function server(world: World, its: Store) {
  const records = new HealingRecords(new Collections(its, makeLog('silent')), world.store.events);
  await records.onModuleInit();
  world.excluded = () => records.lost_servers;
  const infrastructure = {
    servers: SERVERS.map((id) => ({ id, origin: 'twin', nics: [{ name: 'nic0' }] })),
    boards: [],
  } as unknown as Infrastructure;
  const store = { current: { revision: 1, infrastructure } };
  const fleet = {
    isConnected: (id: string) => world.isWell(id),
    observed: () => ({ engine: 'running', troubles: [] }),
  };
  const view = {
    get comingPlan() {
      return world.coming;
    },
    comingDrivers: [],
  };
  const plans = {
    get: async (id: string) => world.plans.get(id),
    tryOut: async (request: PlanChange) => world.planFor(request),
  };
  const deployer = world.operations.deployer(its);
  const accountParts = [records, view, deployer, plans, { get: async () => ({}) }, world.operations.log];
  const accounts = new Accounts(...(accountParts as unknown as ConstructorParameters<typeof Accounts>));
  const againParts = [records, new Keepers(records), store, view, plans, deployer];
  const redeployment = new Redeployment(...(againParts as unknown as ConstructorParameters<typeof Redeployment>));
  let look: (run: LoopRun) => Promise<unknown> = async () => undefined;
  const loops = {
    add: ({ run }: { run: typeof look }) => {
      look = run;
      return {};
    },
  };
  const twin = { enabled: true, builtRevision: 1 };
  const parts = [loops, records, accounts, store, fleet, twin, view, deployer, redeployment, { isLent: () => false }];
  new Healer(...(parts as unknown as ConstructorParameters<typeof Healer>));
  const run = { step: (work: Promise<unknown>) => work, decide: () => undefined } as unknown as LoopRun;
  /** Each second an operation comes about, and the loop looks. */
  const goOn = async () => {
    for (; world.second < END_S; world.second++) {
      vi.advanceTimersByTime(1000);
      world.operations.complete();
      await look(run);
    }
  };
  return { records, goOn };
}

it('each loss, return and chain that is taken down is accounted for once, wherever the server is killed', async () => {
  const goOn = async (world: World, its: Store) => (await server(world, its)).goOn();
  const kills = await killedAtEachWrite<World>({
    world: () => new World(),
    play: goOn,
    goOn,
    check: async (world, where) => {
      const { records } = await server(world, world.store.open());
      expect(placesOf(world.coming), where).toEqual({ high: 'server-1', low: 'server-2' });
      expect([records.out(), records.notKept()], where).toEqual([[], []]);
      expect(world.store.counts, where).toEqual({
        'healing.lost': 1,
        'healing.not-kept': 1,
        'healing.moved': 1,
        'healing.back': 1,
        'healing.returned': 1,
        'healing.kept-again': 1,
      });
      expect(
        world.operations.accepted.map(({ request }) => Object.keys(request).sort().join()),
        where,
      ).toEqual(['when_short', 'move', 'chains,when_short']);
    },
  });
  expect(kills).toBeGreaterThan(20);
});
