import { FLOW_SPACE, type NfSplit, nfInstances, type Plan, type StagedSplit } from '@orrery/contract';
import { equalRanges } from '@orrery/planner';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { LoopRun } from '../../platform/control-loop/definition.js';
import { Collections } from '../../platform/durable-collection/collections.js';
import { makeLog } from '../../platform/log.js';
import { ProblemError } from '../../platform/problem.js';
import type { Store } from '../../platform/redis.js';
import type { PlanChange } from '../../ports/deployer.js';
import { drawnEnds, type End, killedAtEachWrite, MemoryOperations, MemoryStore } from '../../testing/killed-story.js';
import { LeaseBookService } from '../leases/lease-book.service.js';
import { ScalingConductor } from './conductor.js';
import { runningNf } from './running-nf.js';
import { Scaler } from './scaler.js';
import { Scalings } from './scalings.js';

const nf = { chain_id: 'c-1', node_id: 'ids' };
const WHOLE = [{ lo: 0, hi: FLOW_SPACE }];
const wish = { nf, flows: 'keep' as const, drain_s: 60, cause: 'asked for', policy_id: null, by: 'ann' };
const STEP = { step: (work: Promise<unknown>) => work } as unknown as LoopRun;
/** What engines know to be elsewhere than the ranges of switches say. */
const EXCEPTIONS: StagedSplit['exceptions'] = [
  { flow: { 'ip.src': '10.0.1.1' }, ordinal: 1 },
  { flow: { 'ip.src': '10.0.1.2' }, ordinal: 2 },
];

/** Who is scaled: a first NF, or one behind an engine; `numbers` of its instances, one after the other. */
interface How {
  readonly isFirst: boolean;
  readonly numbers: readonly number[];
}

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance', 'Date'] }));
afterEach(() => void vi.useRealTimers());

const definition = {
  nodes: [
    { id: 'in', kind: 'ingress' },
    { id: 'ids', kind: 'nf', nf: 'ids' },
  ],
  edges: [{ id: 'e1', from: 'in', to: 'ids' }],
};

/** An NF behind an engine, which knows its flows; or the first one, whose flows an engine in front of it knows once it is split in steps. */
function planOf(
  { ranges = WHOLE, staged }: Omit<NfSplit, 'node_id'>,
  isFirst: boolean,
  { id, base_plan }: Pick<Plan, 'id' | 'base_plan'>,
): Plan {
  const ids = ranges.map((_, ordinal) => `web.ids.${ordinal}`);
  const from = !isFirst ? 'web.fw.0' : staged?.held ? 'web.e1.split' : null;
  const front = { kind: 'split', id: 'web.e1.split', ...nf, in_front_of: 0 };
  // Nothing has to be waited for.
  const steps = staged ? { staged: { ...staged, idle_timeout_s: 0 } } : {};
  const targets = ids.map((instance_id, i) => ({ instance_id, range: ranges[i] }));
  return {
    ...{ id, base_plan },
    graph: {
      nodes: [
        ...ids.map((id, ordinal) => ({ kind: 'nf', id, ...nf, nf: 'ids', ordinal, server: 's-1', core: ordinal })),
        ...(staged?.held ? [front] : []),
      ],
      edges: ids.map((to) => ({ from, to, direction: 'forward', key: ['ip.src'] })),
    },
    chains: [
      { chain_id: 'c-1', version: 1, definition, splits: [{ node_id: 'ids', instances: ids.length, ...steps }] },
    ],
    splits: ids.length > 1 ? [{ ...nf, targets, keep_flows: from === null ? null : {} }] : [],
    ...{ diff: { moved: [] }, problems: [] },
  } as unknown as Plan;
}

function newWorld({ isFirst, numbers }: How, ends: readonly End[] = []) {
  const first = numbers[0]! > 1 ? { ranges: equalRanges(numbers[0]!) } : {};
  const inForce = planOf(first, isFirst, { id: 'plan-0', base_plan: null });
  const state = { inForce, coming: inForce, plans: 1 };
  const asked = ({ chains }: PlanChange) => chains![0]!.splits![0] as NfSplit;
  const operations = new MemoryOperations(
    (request) => planOf(asked(request), isFirst, { id: `plan-${state.plans++}`, base_plan: state.coming.id }),
    (plan) => {
      state.coming = plan;
    },
    {
      endOf: (n) => ends[n] ?? 'done',
      comesAbout: (plan) => {
        state.inForce = plan;
      },
      comesToNothing: () => {
        state.coming = state.inForce;
        return state.inForce;
      },
    },
  );
  return { store: new MemoryStore(), state, operations };
}
type World = ReturnType<typeof newWorld>;

async function server({ store, state, operations }: World, its: Store) {
  const collections = new Collections(its, makeLog('silent'));
  const leases = new LeaseBookService(collections);
  const scalings = new Scalings(collections, store.events, leases);
  await leases.onModuleInit();
  await scalings.onModuleInit();
  const view = {
    get plan() {
      return state.inForce;
    },
    get comingPlan() {
      return state.coming;
    },
    deployment: () => {
      const made = operations.accepted.find(({ id }) => operations.log.find(id)?.plan_id === state.coming.id);
      return { version: 1, state: 'running', operation_id: made?.id ?? 'op-0' };
    },
  };
  const catalogue = { find: () => ({ affinity: ['ip.src'], scaling: { max_instances: 4 } }) };
  const telemetry = { newest: (key: string) => (key.endsWith('/flows') ? 0 : null) };
  const deployer = operations.deployer(its);
  const besides = [{ broken: () => [] }, {}, { ownerOf: () => null }, { areKnown: () => true }];
  const parts = [scalings, deployer, operations.log, view, catalogue, telemetry, ...besides];
  const scaler = new Scaler(...(parts as unknown as ConstructorParameters<typeof Scaler>));
  const handovers = { exceptionsOf: async () => EXCEPTIONS };
  const others = [scalings, scaler, deployer, operations.log, {}, view, telemetry, { broken: () => [] }, handovers];
  const conductor = new ScalingConductor(...(others as unknown as ConstructorParameters<typeof ScalingConductor>));
  /** Until no change is under way. */
  const finish = async () => {
    for (let look = 0; look < 40 && scalings.running().length > 0; look++) {
      vi.advanceTimersByTime(4000);
      operations.complete();
      for (const scaling of scalings.running()) await conductor.look(scaling, STEP);
    }
  };
  return { leases, scalings, scaler, finish };
}

/** What there was in the end: one that failed has left the instances as they were. */
async function ended(world: World, where: string) {
  const { scalings, leases } = await server(world, world.store.open());
  const { state, operations } = world;
  const all = scalings.all();
  expect(leases.all(), where).toEqual([]);
  expect([scalings.running(), operations.deployer(world.store.open()).underWay()], where).toEqual([[], []]);
  expect(state.coming, where).toBe(state.inForce);
  const ids = operations.accepted.map(({ id }) => id);
  expect(new Set(ids).size, where).toBe(ids.length);
  expect(world.store.counts['scaling.ended'] ?? 0, where).toBe(all.length);
  return { all, ids };
}

it.each([
  { isFirst: false, numbers: [1, 3, 1], operations: [0, 1, 3], writes: 22 },
  { isFirst: true, numbers: [1, 3, 1], operations: [0, 2, 4], writes: 28 },
  // Switches send flows to the instance that goes: they get the ranges of those that stay, and what engines know.
  { isFirst: true, numbers: [3, 2], operations: [0, 3], writes: 20 },
])(
  'a change that was begun comes to its end once, and leaves no lease, wherever the server is killed (%o)',
  async (how) => {
    const kills = await killedAtEachWrite<World>({
      world: () => newWorld(how),
      play: async (world, its) => {
        const { scaler, finish } = await server(world, its);
        for (const instances of how.numbers.slice(1)) {
          await scaler.begin({ ...wish, instances });
          await finish();
        }
      },
      goOn: async (world, its) => (await server(world, its)).finish(),
      check: async (world, where) => {
        const { all, ids } = await ended(world, where);
        const { state, store } = world;
        expect(new Set(all.map((scaling) => scaling.state)), where).toEqual(
          new Set(all.length === 0 ? [] : ['completed']),
        );
        expect(nfInstances(state.inForce.graph), where).toHaveLength(how.numbers[all.length]!);
        expect(ids, where).toHaveLength(how.operations[all.length]!);
        if (how.numbers[0] === 3 && all.length > 0)
          expect(state.inForce.chains[0]!.splits?.[0]?.staged, where).toEqual({
            exceptions: EXCEPTIONS.slice(0, 1),
            idle_timeout_s: 0,
          });
        const told = store.counts;
        // One that was accepted when the server was killed is not told (decision 0062).
        for (const type of ['scaling.out', 'scaling.in'] as const)
          expect(told[type] ?? 0, where).toBeLessThanOrEqual(1);
        if (where !== 'without a kill') return;
        const out = how.numbers[0] === 1 ? { 'scaling.out': 1 } : {};
        expect(told).toEqual({ ...out, 'scaling.in': 1, 'scaling.ended': how.numbers.length - 1 });
      },
    });
    expect(kills).toBe(how.writes);
  },
);

const ENDS: readonly End[] = ['done', 'done', 'failed', 'set aside', 'refused', 'stuck'];

it.each([
  { isFirst: false, numbers: [1, 3, 1] },
  { isFirst: true, numbers: [1, 3, 1] },
  { isFirst: true, numbers: [3, 2] },
])(
  'whatever becomes of its operations, a change ends, or leaves all as it was, wherever the server is killed (%o)',
  async (how) => {
    const seen = { completed: 0, failed: 0 };
    for (let seed = 1; seed <= 8; seed++) {
      const ends = drawnEnds(seed, ENDS, 6);
      const kills = await killedAtEachWrite<World>({
        world: () => newWorld(how, ends),
        play: async (world, its) => {
          const { scaler, finish } = await server(world, its);
          for (const instances of how.numbers.slice(1)) {
            await scaler.begin({ ...wish, instances }).catch((error: unknown) => {
              if (!(error instanceof ProblemError) || error.status >= 500) throw error;
            });
            await finish();
          }
        },
        goOn: async (world, its) => (await server(world, its)).finish(),
        check: async (world, at) => {
          const where = `seed ${seed}: ${ends.join()}, ${at}`;
          const { all } = await ended(world, where);
          const [last] = all;
          if (!last) {
            expect(nfInstances(world.state.inForce.graph), where).toHaveLength(how.numbers[0]!);
            return;
          }
          expect(last.state, where).toMatch(/^(completed|failed)$/);
          if (last.state === 'completed') seen.completed++;
          else seen.failed++;
          const { instances, ranges } = runningNf(world.state.inForce, nf)!;
          const isDone = last.state === 'completed';
          expect(instances, where).toHaveLength(isDone ? last.to : last.from);
          // Where its way back came to nothing, it says so.
          if (last.error?.includes('stay drained') !== true)
            expect(ranges, where).toEqual(isDone ? last.after : last.before);
        },
      });
      expect(kills).toBeGreaterThan(3);
    }
    expect(Math.min(seen.completed, seen.failed)).toBeGreaterThan(5);
  },
);
