import { FLOW_SPACE, type NfSplit, nfInstances, type Plan } from '@orrery/contract';
import { expect, it } from 'vitest';
import type { LoopRun } from '../../platform/control-loop/definition.js';
import { Collections } from '../../platform/durable-collection/collections.js';
import { makeLog } from '../../platform/log.js';
import type { Store } from '../../platform/redis.js';
import type { PlanChange } from '../../ports/deployer.js';
import { killedAtEachWrite, MemoryOperations, MemoryStore } from '../../testing/killed-story.js';
import { LeaseBookService } from '../leases/lease-book.service.js';
import { ScalingConductor } from './conductor.js';
import { Scaler } from './scaler.js';
import { Scalings } from './scalings.js';

const nf = { chain_id: 'c-1', node_id: 'ids' };
const WHOLE = [{ lo: 0, hi: FLOW_SPACE }];
const wish = { nf, flows: 'keep' as const, drain_s: 60, cause: 'asked for', policy_id: null, by: 'ann' };
const STEP = { step: (work: Promise<unknown>) => work } as unknown as LoopRun;

const definition = {
  nodes: [
    { id: 'in', kind: 'ingress' },
    { id: 'ids', kind: 'nf', nf: 'ids' },
  ],
  edges: [{ id: 'e1', from: 'in', to: 'ids' }],
};

/** An NF behind an engine, which knows its flows; or the first one, whose flows an engine in front of it knows once it is split in steps. */
function planOf({ ranges = WHOLE, staged }: Omit<NfSplit, 'node_id'>, isFirst: boolean): Plan {
  const ids = ranges.map((_, ordinal) => `web.ids.${ordinal}`);
  const from = !isFirst ? 'web.fw.0' : staged?.held ? 'web.e1.split' : null;
  const front = { kind: 'split', id: 'web.e1.split', ...nf, in_front_of: 0 };
  // Nothing has to be waited for.
  const steps = staged ? { staged: { ...staged, idle_timeout_s: 0 } } : {};
  const targets = ids.map((instance_id, i) => ({ instance_id, range: ranges[i] }));
  return {
    id: `plan-${ids.length}`,
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
    splits: ids.length > 1 ? [{ ...nf, targets, keep_flows: {} }] : [],
    ...{ diff: { moved: [] }, problems: [] },
  } as unknown as Plan;
}

function newWorld(isFirst: boolean) {
  const state = { coming: planOf({}, isFirst) };
  const asked = ({ chains }: PlanChange) => chains![0]!.splits![0] as NfSplit;
  const operations = new MemoryOperations(
    (request) => planOf(asked(request), isFirst),
    (plan) => {
      state.coming = plan;
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
      return state.coming;
    },
    get comingPlan() {
      return state.coming;
    },
    deployment: () => ({ version: 1, state: 'running' }),
  };
  const catalogue = { find: () => ({ affinity: ['ip.src'], scaling: { max_instances: 4 } }) };
  const telemetry = { newest: (key: string) => (key.endsWith('/flows') ? 0 : null) };
  const deployer = operations.deployer(its);
  const parts = [scalings, deployer, operations.log, view, catalogue, telemetry, { broken: () => [] }];
  const scaler = new Scaler(...(parts as unknown as ConstructorParameters<typeof Scaler>));
  const others = [scalings, scaler, deployer, operations.log, {}, view, telemetry, { broken: () => [] }];
  const conductor = new ScalingConductor(...(others as unknown as ConstructorParameters<typeof ScalingConductor>));
  /** Until no change is under way. */
  const finish = async () => {
    for (let look = 0; look < 20 && scalings.running().length > 0; look++) {
      operations.complete();
      for (const scaling of scalings.running()) await conductor.look(scaling, STEP);
    }
  };
  return { leases, scalings, scaler, finish };
}

it.each([
  { isFirst: false, operations: [0, 1, 3], writes: 22 },
  { isFirst: true, operations: [0, 2, 4], writes: 28 },
])(
  'a change that was begun comes to its end once, and leaves no lease, wherever the server is killed (%o)',
  async (how) => {
    const kills = await killedAtEachWrite<World>({
      world: () => newWorld(how.isFirst),
      play: async (world, its) => {
        const { scaler, finish } = await server(world, its);
        for (const instances of [3, 1]) {
          await scaler.begin({ ...wish, instances });
          await finish();
        }
      },
      goOn: async (world, its) => (await server(world, its)).finish(),
      check: async ({ store, state, operations }, where) => {
        const { scalings, leases } = await server({ store, state, operations }, store.open());
        const all = scalings.all();
        expect(leases.all(), where).toEqual([]);
        expect(new Set(all.map((scaling) => scaling.state)), where).toEqual(
          new Set(all.length === 0 ? [] : ['completed']),
        );
        expect(nfInstances(state.coming.graph), where).toHaveLength([1, 3, 1][all.length]!);
        const ids = operations.accepted.map(({ id }) => id);
        expect(new Set(ids).size, where).toBe(ids.length);
        expect(ids, where).toHaveLength(how.operations[all.length]!);
        const told = store.counts;
        expect(told['scaling.ended'] ?? 0, where).toBe(all.length);
        // One that was accepted when the server was killed is not told (decision 0062).
        for (const type of ['scaling.out', 'scaling.in'] as const)
          expect(told[type] ?? 0, where).toBeLessThanOrEqual(1);
        if (where === 'without a kill') expect(told).toEqual({ 'scaling.out': 1, 'scaling.in': 1, 'scaling.ended': 2 });
      },
    });
    expect(kills).toBe(how.writes);
  },
);
