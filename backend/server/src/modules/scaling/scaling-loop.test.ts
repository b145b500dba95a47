import { type Plan, type Scaling, ScalingPolicyRequest } from '@orrery/contract';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { ControlLoops } from '../../platform/control-loop/control-loops.js';
import type { LoopRun } from '../../platform/control-loop/definition.js';
import { conflict } from '../../platform/problem.js';
import { ScalingLoop } from './scaling-loop.js';

const nf = { chain_id: 'c-1', node_id: 'ids' };
const out = { utilization: 0.8, queue: 100, for_s: 0.5 };
const policy = { ...ScalingPolicyRequest.parse({ nf, out, cooldown_s: 60 }), id: 'scp-1' };

const definition = {
  nodes: [
    { id: 'in', kind: 'ingress' },
    { id: 'ids', kind: 'nf' },
  ],
  edges: [{ from: 'in', to: 'ids' }],
};

/** An NF of one instance behind an engine, which tracks its flows if it has a key. */
const planOf = (key: readonly string[], from: string | null = 'web.fw.0', execution = 'sequential') =>
  ({
    graph: {
      nodes: [{ kind: 'nf', id: 'web.ids.0', ...nf, ordinal: 0 }],
      edges: [{ from, to: 'web.ids.0', direction: 'forward', key }],
    },
    chains: [{ chain_id: 'c-1', definition, execution }],
    splits: [],
  }) as unknown as Plan;

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance', 'Date'] }));
afterEach(() => void vi.useRealTimers());

/** A loop all of whose changes are refused, or begin and fail. */
function loopOf(key: readonly string[], utilization: number) {
  const world = {
    ...{ plan: planOf(key), told: [] as string[], asked: 0, utilization, held: false, beginning: () => {} },
    ...{ state: 'running', fails: false, made: [] as Scaling[], hindrance: null as string | null },
    stuck: null as string | null,
  };
  let look: (run: LoopRun) => Promise<unknown> = async () => undefined;
  const loops = {
    add: ({ run }: { run: typeof look }) => {
      look = run;
      return {};
    },
  } as unknown as ControlLoops;
  const instance = { id: 'web.ids.0', ordinal: 0, utilization, share: utilization, limit: 1, queue: 0, delay_us: null };
  const load = { instances: [instance], ranges: [], behind: null };
  const loadOf = (share: number) => ({
    ...{ ...load, hindrance: world.hindrance, instances: [{ ...instance, utilization: share, share }] },
  });
  const scaler = {
    keepsNothing: () => false,
    stuckDeployment: () => world.stuck,
    begin: async ({ instances: to }: { instances: number }) => {
      world.asked++;
      world.beginning();
      const failed = { from: 1, to, state: 'failed', ended_ms: Date.now() } as Scaling;
      if (world.fails) return void world.made.unshift(failed);
      throw conflict('no core is free');
    },
  };
  const parts = [
    loops,
    { all: () => [policy], revisionOf: () => 1 },
    { running: () => [], ofChain: () => undefined, ofNf: () => world.made, isHeld: () => world.held },
    scaler,
    {},
    { of: () => loadOf(world.utilization) },
    {
      get plan() {
        return world.plan;
      },
      deployment: () => ({ state: world.state }),
    },
    {},
    { append: ({ type }: { type: string }) => void world.told.push(type) },
  ];
  const loop = new ScalingLoop(...(parts as unknown as ConstructorParameters<typeof ScalingLoop>));
  const run = {
    signal: new AbortController().signal,
    step: (work: Promise<unknown>) => work,
    decide: () => undefined,
  } as unknown as LoopRun;
  const pass = async (seconds: number) => {
    for (let half = 0; half < 2 * seconds; half++) {
      vi.advanceTimersByTime(500);
      await look(run);
    }
  };
  return { world, pass, now: () => loop.describe(policy) };
}

it('says of an overloaded NF whose chain is being deployed, without end, that nothing is scaled meanwhile', async () => {
  const { world, pass, now } = loopOf(['ip.src'], 0.95);
  world.state = 'deploying';
  await pass(10);
  expect(now()).toMatchObject({ state: 'overloaded', refusal: null });
  world.stuck = 'The chain is being deployed, which does not go on: s-1 is away';
  await pass(10);
  expect(now()).toMatchObject({ state: 'overloaded', refusal: world.stuck });
  expect(world).toMatchObject({ asked: 0, told: ['scaling.refused'] });
});

it('leaves an NF overloaded whose change was refused, and tells that once', async () => {
  const { world, pass, now } = loopOf(['ip.src'], 0.95);
  await pass(2);
  expect(now()).toMatchObject({ state: 'overloaded', refusal: 'no core is free' });
  expect(world.asked).toBe(1);
  await pass(30);
  expect(world.asked).toBeGreaterThan(1);
  expect(now()).toMatchObject({ state: 'overloaded', refusal: 'no core is free' });
  expect(world.told).toEqual(['scaling.refused']);
});

it('waits while something else has the chain, also where that came first at the last moment, and refuses nothing then', async () => {
  for (const key of [['ip.src'], []]) {
    const { world, pass, now } = loopOf(key, 0.95);
    world.beginning = () => {
      world.held = true;
    };
    await pass(10);
    expect([world.asked, world.told, now().refusal]).toEqual([1, [], null]);
    world.held = false;
    world.beginning = () => undefined;
    await pass(0.5);
    expect([world.asked, world.told]).toEqual([2, ['scaling.refused']]);
  }
});

it('waits while a version of the chain is being deployed, and refuses nothing then', async () => {
  for (const key of [['ip.src'], []]) {
    const { world, pass, now } = loopOf(key, 0.95);
    world.state = 'deploying';
    await pass(10);
    expect([world.asked, world.told, now().refusal]).toEqual([0, [], null]);
    world.state = 'running';
    await pass(0.5);
    expect(world.asked).toBe(1);
  }
});

it('tells a refusal once however often the overload comes and goes, and anew after a minute without', async () => {
  const { world, pass, now } = loopOf(['ip.src'], 0.95);
  for (let times = 0; times < 6; times++) {
    world.utilization = 0.95;
    await pass(5);
    world.utilization = 0.7;
    await pass(5);
  }
  expect(world.told).toEqual(['scaling.refused']);
  await pass(60);
  expect(now().refusal).toBeNull();
  world.utilization = 0.95;
  await pass(30);
  expect(world.told).toEqual(['scaling.refused', 'scaling.refused']);
});

it('tells once why flows cannot be tracked, and shows it until they are', async () => {
  const { world, pass, now } = loopOf([], 0.5);
  await pass(30);
  expect(world.asked).toBeGreaterThan(1);
  expect(now()).toMatchObject({ state: 'watching', refusal: 'no core is free' });
  expect(world.told).toEqual(['scaling.refused']);
  world.plan = planOf(['ip.src']);
  await pass(300);
  expect(now().refusal).toBeNull();
});

it('has engines track the flows of a first NF that can be split in steps, before it needs to', async () => {
  const { world, pass } = loopOf([], 0.5);
  world.plan = planOf([], null, 'parallel');
  await pass(2);
  expect(world.asked).toBe(0);
  world.plan = planOf([], null);
  await pass(2);
  expect(world.asked).toBe(1);
});

it('has flows tracked again later and later where that fails, and not while an agent is away', async () => {
  const { world, pass, now } = loopOf([], 0.5);
  world.fails = true;
  world.hindrance = 'the agent of server-1 is away';
  await pass(10);
  expect(world.asked).toBe(0);
  world.hindrance = null;
  await pass(0.5);
  // After 5 s, 10 s, 20 s and 40 s.
  for (const seconds of [5, 10, 20, 40]) {
    const { asked } = world;
    await pass(seconds - 0.5);
    expect(world.asked).toBe(asked);
    await pass(0.5);
    expect(world.asked).toBe(asked + 1);
  }
  expect(now().state).toBe('watching');
});
