import { HealingPolicyRequest, type Infrastructure, nfInstances, type Origin, type Plan } from '@orrery/contract';
import { vi } from 'vitest';
import { Accounts } from '../modules/healing/accounts.js';
import { Healer } from '../modules/healing/healer.js';
import { Keepers } from '../modules/healing/keepers.js';
import { HealingRecords } from '../modules/healing/records.js';
import { Redeployment } from '../modules/healing/redeployment.js';
import type { Decision, LoopRun } from '../platform/control-loop/definition.js';
import { Collections } from '../platform/durable-collection/collections.js';
import { makeLog } from '../platform/log.js';
import { conflict } from '../platform/problem.js';
import type { Store } from '../platform/redis.js';
import type { PlanChange } from '../ports/deployer.js';
import { type End, MemoryOperations, MemoryStore } from './killed-story.js';

type Places = Readonly<Record<string, string>>;

export const placesOf = (plan: Plan): Places =>
  Object.fromEntries(nfInstances(plan.graph).map(({ chain_id, server }) => [chain_id, server]));

export interface HealingStory {
  /** Where chains run at first, the most important one first. Each server has room for one. */
  readonly places: Places;
  /** Of each server. */
  readonly origins: Readonly<Record<string, Origin>>;
  readonly isWell: (server: string, second: number) => boolean;
  /** Before, no operation comes about. */
  readonly comesFromS?: number;
  /** Chains that fail closed. */
  readonly closed?: readonly string[];
  readonly twin?: { readonly enabled: boolean; readonly builtRevision: number | null };
  /** Of the first operations, how each ends; the others come about. */
  readonly ends?: readonly End[];
}

/** Servers that come and go, and the chains that are planned for them. */
export class HealingWorld {
  readonly store = new MemoryStore();
  readonly plans = new Map<string, Plan>();
  readonly operations: MemoryOperations;
  readonly decisions: Decision[] = [];
  inForce: Plan;
  coming: Plan;
  second = 0;
  /** What the records of the server that lives keep plans away from. */
  excluded: () => readonly string[] = () => [];

  constructor(readonly story: HealingStory) {
    this.inForce = this.planned(null, { places: story.places, left: [], guarded: [] });
    this.coming = this.inForce;
    this.operations = new MemoryOperations(
      (request) => this.planFor(request),
      (plan) => {
        this.coming = plan;
      },
      {
        endOf: (n) => story.ends?.[n] ?? 'done',
        comesAbout: (plan) => {
          this.inForce = plan;
        },
        comesToNothing: () => {
          this.coming = this.inForce;
          return this.inForce;
        },
      },
    );
  }

  planFor({ move = [], chains = [], remove = [], without_servers = [], when_short }: PlanChange): Plan {
    const before = placesOf(this.coming);
    const guarded = this.coming.guarded?.map(({ chain_id }) => chain_id) ?? [];
    const unknown = remove.find((id) => before[id] === undefined && !guarded.includes(id));
    if (unknown !== undefined) throw conflict(`${unknown} is not deployed.`);
    const isWanted = (id: string) =>
      !remove.includes(id) && (before[id] !== undefined || chains.some(({ chain_id }) => chain_id === id));
    const wanted = Object.keys(this.story.places).filter(isWanted);
    const places: Record<string, string> = {};
    for (const id of wanted) {
      const free = Object.keys(this.story.origins).filter(
        (server) =>
          ![...this.excluded(), ...without_servers].includes(server) &&
          !Object.values(places).includes(server) &&
          (this.story.isWell(server, this.second) || Object.values(before).includes(server)),
      );
      const asked = move.find(({ instance }) => instance === `${id}.fw.0`)?.server ?? before[id];
      const place = free.find((server) => server === asked) ?? free[0];
      if (place !== undefined) places[id] = place;
    }
    const left = wanted.filter((id) => places[id] === undefined);
    if (left.length > 0 && when_short !== 'leave-out') throw conflict('There is no room.');
    const shut = left.filter((id) => this.story.closed?.includes(id));
    const still = guarded.filter((id) => !wanted.includes(id) && !remove.includes(id));
    return this.planned(this.coming, { places, left, guarded: [...still, ...shut], remove });
  }

  private planned(
    base: Plan | null,
    {
      places,
      left,
      guarded,
      remove = [],
    }: Readonly<Record<'left' | 'guarded', readonly string[]>> & {
      readonly places: Places;
      readonly remove?: readonly string[];
    },
  ): Plan {
    const chains = Object.keys(places);
    const missing = { slo_id: null, priority: 10, because: 'no room', constraint: null };
    const plan = {
      ...{
        id: `plan-${this.plans.size}`,
        base_plan: base?.id ?? null,
        feasible: true,
        problems: [],
        request: { remove },
        excluded: { servers: this.excluded(), lost_servers: this.excluded(), boards: [] },
      },
      chains: chains.map((chain_id) => ({ chain_id, version: 1 })),
      graph: {
        nodes: chains.map((chain_id) => ({
          ...{ kind: 'nf', id: `${chain_id}.fw.0`, chain_id, node_id: 'fw', pgraph_node: `${chain_id}.fw` },
          server: places[chain_id],
        })),
        edges: [],
      },
      not_kept: left.map((chain_id) => ({ chain_id, ...missing })),
      guarded: guarded.map((chain_id) => ({ chain_id })),
    } as unknown as Plan;
    this.plans.set(plan.id, plan);
    return plan;
  }
}

/** What heals in a server that has this store, with the time of the test. */
export async function healingServer(world: HealingWorld, its: Store) {
  const { story, operations } = world;
  const records = new HealingRecords(new Collections(its, makeLog('silent')), world.store.events);
  await records.onModuleInit();
  world.excluded = () => records.lost_servers;
  const servers = Object.entries(story.origins).map(([id, origin]) => ({ id, origin, nics: [{ name: 'nic0' }] }));
  const infrastructure = { servers, boards: [] } as unknown as Infrastructure;
  const store = { current: { revision: 1, infrastructure } };
  const fleet = {
    isConnected: (id: string) => story.isWell(id, world.second),
    observed: () => ({ engine: 'running', troubles: [] }),
  };
  const view = {
    get plan() {
      return world.coming;
    },
    get planInForce() {
      return world.inForce;
    },
    get comingPlan() {
      return world.coming;
    },
    comingDrivers: [],
    isGuarded: (id: string) =>
      [world.inForce, world.coming].some((plan) => plan.guarded?.some(({ chain_id }) => chain_id === id)),
    onChange: () => undefined,
  };
  const plans = {
    get: async (id: string) => world.plans.get(id),
    tryOut: async (request: PlanChange) => world.planFor(request),
  };
  const deployer = operations.deployer(its);
  const accountParts = [records, view, deployer, plans, { get: async () => ({}) }, operations.log, store];
  const accounts = new Accounts(...(accountParts as unknown as ConstructorParameters<typeof Accounts>));
  const keepers = new Keepers(records, view as unknown as ConstructorParameters<typeof Keepers>[1]);
  const againParts = [records, keepers, store, view, plans, deployer];
  const redeployment = new Redeployment(...(againParts as unknown as ConstructorParameters<typeof Redeployment>));
  let look: (run: LoopRun) => Promise<unknown> = async () => undefined;
  const loops = {
    add: ({ run }: { run: typeof look }) => {
      look = run;
      return {};
    },
  };
  const twin = story.twin ?? { enabled: true, builtRevision: 1 };
  const parts = [loops, records, accounts, store, fleet, twin, view, deployer, redeployment, { isLent: () => false }];
  new Healer(...(parts as unknown as ConstructorParameters<typeof Healer>));
  const run = {
    step: (work: Promise<unknown>) => work,
    decide: (decision: Decision) => void world.decisions.push(decision),
  } as unknown as LoopRun;
  /** Each second operations end, and the loop looks, until so many have passed; `then`: after each. */
  const goOn = async (untilS: number, then: () => unknown = () => undefined) => {
    for (; world.second < untilS; world.second++) {
      vi.advanceTimersByTime(1000);
      if (world.second >= (world.story.comesFromS ?? 0)) operations.complete();
      await look(run);
      await then();
    }
  };
  const setPolicy = (policy: Partial<HealingPolicyRequest>) =>
    records.replacePolicy(HealingPolicyRequest.parse(policy), null, 'ann');
  return { records, keepers, redeployment, goOn, setPolicy };
}
