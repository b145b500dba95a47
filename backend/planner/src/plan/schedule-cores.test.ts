import { type ChainDefinition, nfInstances, type Plan, type PlanOptions, type ScheduleMode } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { coreUse } from '../slo/placed.js';
import { chainOf } from '../testing/chains.js';
import { descriptor } from '../testing/descriptors.js';
import { rack } from '../testing/infrastructure.js';
import { makePlan } from './make-plan.js';

const POLICIES = ['scheduler', 'round-robin', 'priority', 'weighted-fair', 'rate-limit'] as const;
/** Web traffic goes on to `b` and the rest, which gets less, to `c`: the objective takes two tasks. */
const DRAWN = chainOf({ a: 'a', b: 'b', c: 'c' }, [
  ['in', 'a'],
  ['a', 'b', [['port.dst', 'is', 80]]],
  ['a', 'c', [['port.dst', 'is-not', 80]]],
  ['b', 'out'],
  ['c', 'out'],
]);

interface Asked {
  readonly schedule: ScheduleMode;
  readonly base?: Plan | null;
  readonly workers?: number;
  readonly rate_bps?: number;
  /** Of another chain, which is served in turn. */
  readonly beside?: ChainDefinition;
  readonly ghz?: number;
  readonly options?: Partial<PlanOptions>;
}

function plan({ schedule, base = null, workers, rate_bps = 10_000_000, beside, ghz = 1, options }: Asked): Plan {
  const definition: ChainDefinition = {
    ...DRAWN,
    traffic_class: { ...DRAWN.traffic_class, rate_bps, packet_bytes: 500 },
    class_slos: [{ id: 'web-more', kind: 'cpu-time', a: 'e1', b: 'e2', ratio: 1.5 }],
  };
  return makePlan({
    id: 'plan',
    created_ms: 0,
    chains: [
      { chain_id: 'p-1', version: 1, definition, schedule },
      ...(beside ? [{ chain_id: 'p-2', version: 1, definition: beside }] : []),
    ],
    descriptors: ['a', 'b', 'c'].map((id) => descriptor(id, { cycles: 1000 })),
    infrastructure: rack({ servers: 1, cores: 4, ghz }),
    abilities: { 'server-1': POLICIES },
    ...(workers ? { workers: { 'server-1': workers } } : {}),
    ...(options ? { options } : {}),
    base,
    budget: { steps: 50 },
  });
}

const own = ({ graph }: Plan) => nfInstances(graph).filter(({ chain_id }) => chain_id === 'p-1');
const coresOf = (made: Plan) => new Set(own(made).map(({ core }) => core));

describe('the cores of a chain with a schedule', () => {
  it('are one where it has room, with one tree and no task but those that the objectives ask for', () => {
    const made = plan({ schedule: 'planned' });
    expect(made.feasible).toBe(true);
    expect(coresOf(made).size).toBe(1);
    expect(made.nodes['server-1']!.schedulers).toHaveLength(1);
    expect(made.schedules[0]!.tasks).toHaveLength(2);
  });

  it('are several where it is split: each task has one, and the busiest has less than all together', () => {
    const [together, split] = [plan({ schedule: 'planned' }), plan({ schedule: 'split' })];
    expect(coresOf(split).size).toBe(2);
    expect(split.schedules[0]).toMatchObject({ feasible: true, workers: 2, replicated: false });
    expect(split.nodes['server-1']!.schedulers).toHaveLength(2);
    const busiest = (made: Plan) => Math.max(...coreUse(made.graph).values());
    expect(busiest(split)).toBeLessThan(busiest(together));
    expect(split.reasons).toContainEqual(expect.objectContaining({ part: 'scheduling', subject: 'p-1' }));
  });

  it('are those of different workers: cores that share one would not run at the same time', () => {
    for (const workers of [1, 2, 3]) {
      const made = plan({ schedule: 'split', workers });
      expect([workers, made.feasible, coresOf(made).size]).toEqual([workers, true, Math.min(2, workers)]);
      expect(new Set([...coresOf(made)].map((core) => core % workers)).size).toBe(coresOf(made).size);
    }
  });

  it('are held back by shares of their time, whatever clock is declared for them', () => {
    const limits = [1, 2.3, 3].map((ghz) => {
      const made = plan({ schedule: 'split', ghz, options: { scheduling_mode: 'free' } });
      const trees = made.nodes['server-1']!.schedulers!.flatMap(({ tree }) => tree);
      return trees.flatMap((node) => (node.kind === 'rate-limit' ? [[node.resource, node.per_second] as const] : []));
    });
    for (const found of limits) {
      expect(found).toHaveLength(1);
      const [[resource, share]] = found as [readonly [string, number]];
      expect(resource).toBe('core-time');
      expect(share).toBeLessThan(1);
      expect(share).toBeCloseTo(limits[0]![0]![1], 6);
    }
  });

  it('are as placed where one has no room for all', () => {
    const made = plan({ schedule: 'planned', rate_bps: 2.6e9 });
    expect(made.feasible).toBe(true);
    expect(coresOf(made).size).toBeGreaterThan(1);
  });

  it('stay while it runs the same way, and only what changes its core is a new instance when it is split', () => {
    const first = plan({ schedule: 'planned' });
    const beside = {
      ...chainOf({ a: 'a' }, [
        ['in', 'a'],
        ['a', 'out'],
      ]),
      name: 'other',
      traffic_class: { ...DRAWN.traffic_class, from: ['client-2'], rate_bps: 1e9, packet_bytes: 500 },
    };
    const places = (made: Plan) => own(made).map(({ id, core }) => [id, core]);
    expect(places(plan({ schedule: 'planned', base: first, beside }))).toEqual(places(first));
    const split = plan({ schedule: 'split', base: first });
    const before = new Map(places(first) as [string, number][]);
    for (const [id, core] of places(split) as [string, number][])
      expect(before.has(id) ? before.get(id) : core).toBe(core);
    expect(places(split).some(([id]) => !before.has(id as string))).toBe(true);
  });
});
