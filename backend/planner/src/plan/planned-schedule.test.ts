import { type ChainDefinition, type EngineAbility, nfInstances, Plan, type PlannedChain } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { coreUse } from '../slo/placed.js';
import { chainOf } from '../testing/chains.js';
import { descriptor, NAT } from '../testing/descriptors.js';
import { rack } from '../testing/infrastructure.js';
import { makePlan } from './make-plan.js';

const POLICIES = ['scheduler', 'round-robin', 'priority', 'weighted-fair', 'rate-limit'] as const;
const everywhere = { 'server-1': POLICIES, 'server-2': POLICIES };
/** Web traffic goes on to `b`, the rest to `c`, which may only have what `b` leaves. */
const CHAIN: ChainDefinition = {
  ...chainOf({ a: 'a', b: 'b', c: 'c' }, [
    ['in', 'a'],
    ['a', 'b', [['port.dst', 'is', 80]]],
    ['a', 'c', [['port.dst', 'is-not', 80]]],
    ['b', 'out'],
    ['c', 'out'],
  ]),
  class_slos: [{ id: 'web-first', kind: 'priority', above: 'e1', below: 'e2' }],
};

interface Asked {
  readonly schedule?: PlannedChain['schedule'];
  readonly execution?: PlannedChain['execution'];
  readonly definition?: ChainDefinition;
  readonly abilities?: Readonly<Record<string, readonly EngineAbility[]>>;
  readonly base?: Plan | null;
  /** Of each of two servers. */
  readonly cores?: number;
}

function plan({
  schedule = 'planned',
  execution,
  definition = CHAIN,
  abilities = everywhere,
  base = null,
  cores = 1,
}: Asked) {
  const made = makePlan({
    id: 'plan',
    created_ms: 0,
    chains: [{ chain_id: 'p-1', version: 1, definition, schedule, ...(execution ? { execution } : {}) }],
    descriptors: [...['a', 'b', 'c'].map((id) => descriptor(id, { cycles: 1000 })), NAT],
    infrastructure: rack({ servers: 2, cores, ghz: 1 }),
    abilities,
    base,
    budget: { steps: 50 },
  });
  expect(() => Plan.parse(made)).not.toThrow();
  return made;
}

describe('a chain with a planned schedule', () => {
  it('is refused where no engine takes a scheduler tree, with each server', () => {
    const refused = plan({ abilities: { 'server-1': ['round-robin'] } });
    expect(refused.feasible).toBe(false);
    expect(refused.conflicts).toEqual(
      ['server-1', 'server-2'].map((where) => ({
        constraint: 'engine-ability',
        needed: 1,
        available: 0,
        unit: 'scheduler',
        where,
      })),
    );
  });

  it('is refused where the engine lacks a policy of its tree', () => {
    const able = ['scheduler', 'round-robin', 'weighted-fair'] as const;
    const refused = plan({ abilities: { 'server-1': able, 'server-2': able } });
    expect(refused.conflicts).toMatchObject([{ constraint: 'engine-ability', unit: 'priority' }]);
  });

  it('starts its tasks at queues, which hops lead to, and its core serves them as the tree says', () => {
    const made = plan({ abilities: { 'server-2': POLICIES } });
    expect(made.feasible).toBe(true);
    const { modules, schedulers, instances, hops } = made.nodes['server-2']!;
    expect(modules).toMatchObject([
      { kind: 'queue', id: 'p.e0.queue', outputs: [{ targets: [{ to: { instance_id: 'p.a.scheduled-0' } }] }] },
      { kind: 'queue', id: 'p.e2.queue', outputs: [{ targets: [{ to: { instance_id: 'p.c.scheduled-0' } }] }] },
    ]);
    expect(hops.map(({ instance_id }) => instance_id)).toEqual(['p.e0.queue']);
    expect(instances.every(({ queued }) => queued === false)).toBe(true);
    expect(schedulers).toMatchObject([
      {
        tree: [
          { kind: 'priority', parent: null },
          { kind: 'task', level: 0, starts_at: 'p.e0.queue' },
          { kind: 'task', level: 1, starts_at: 'p.e2.queue' },
        ],
      },
    ]);
    expect(made.nodes['server-1']).not.toHaveProperty('schedulers');
    expect(made.schedules[0]!.tasks.map(({ modules: of }) => of)).toEqual([['a', 'b'], ['c']]);
  });

  it('gets instances of its own when it changes, so that both run while traffic is led over', () => {
    const base = plan({ schedule: 'round-robin' });
    const changed = plan({ base });
    const before = new Set(nfInstances(base.graph).map(({ id }) => id));
    expect(changed.feasible).toBe(true);
    expect(nfInstances(changed.graph).filter(({ id }) => before.has(id))).toEqual([]);
    const back = plan({ schedule: 'round-robin', base: changed });
    expect(Object.values(back.nodes).every((spec) => !spec.modules && !spec.schedulers)).toBe(true);
  });

  it('overbooks no core by its queues: it is refused where there is no room for them beside the NFs', () => {
    const through = chainOf({ a: 'a' }, [
      ['in', 'a'],
      ['a', 'out'],
    ]);
    const outcomes = Array.from({ length: 80 }, (_, n) => {
      const rate_bps = 2.4e9 * 1.005 ** n;
      const definition = { ...through, traffic_class: { ...through.traffic_class, rate_bps, packet_bytes: 500 } };
      const made = plan({ definition });
      for (const used of coreUse(made.graph).values()) expect(used).toBeLessThanOrEqual(0.85 * (1 + 1e-9));
      if (made.feasible) return 'feasible';
      // From here on the NF needs several instances.
      if (made.conflicts.length === 0) return 'split';
      const where = expect.stringContaining('with the queues of the schedule');
      expect(made.conflicts).toMatchObject([{ constraint: 'cpu', unit: 'cores', where }]);
      expect(plan({ definition, schedule: 'round-robin' }).feasible).toBe(true);
      return 'no room for queues';
    });
    expect([...new Set(outcomes)]).toEqual(['feasible', 'no room for queues', 'split']);
  });

  it('has a task for each core that its packets come to', () => {
    const made = plan({ cores: 2 });
    const cores = nfInstances(made.graph).map(({ server, core }) => `${server}/${core}`);
    expect(made.schedules[0]!.cores).toHaveLength(new Set(cores).size);
    expect(Object.values(made.nodes).flatMap(({ schedulers = [] }) => schedulers)).toHaveLength(new Set(cores).size);
  });

  it('is as it was where it is served in turn', () => {
    const made = plan({ schedule: 'round-robin', abilities: {} });
    expect(made.feasible).toBe(true);
    expect(made.graph.nodes.some(({ kind }) => kind === 'queue')).toBe(false);
    expect(made.schedules[0]!.tasks).toHaveLength(2);
  });

  it.each<[string, Asked, string]>([
    [
      'whose NFs need several instances',
      { definition: { ...CHAIN, traffic_class: { ...CHAIN.traffic_class, rate_bps: 8e9 } }, cores: 2 },
      'several instances',
    ],
    [
      'that runs in parallel',
      {
        definition: chainOf({ a: 'a', b: 'b' }, [
          ['in', 'a'],
          ['a', 'b'],
          ['b', 'out'],
        ]),
        execution: 'parallel',
        abilities: { 'server-1': [...POLICIES, 'mirror', 'merge'], 'server-2': [...POLICIES, 'mirror', 'merge'] },
      },
      'in parallel',
    ],
    [
      'whose NFs take replies',
      {
        definition: chainOf({ nat: 'nat' }, [
          ['in', 'nat'],
          ['nat', 'out'],
        ]),
      },
      'Replies',
    ],
    [
      'without traffic',
      { definition: { ...CHAIN, traffic_class: { ...CHAIN.traffic_class, rate_bps: 0 } } },
      'No traffic is expected',
    ],
  ])('is refused %s', (_, asked, words) => {
    const refused = plan(asked);
    expect(refused.feasible).toBe(false);
    expect(refused.problems).toMatchObject([{ code: 'bad-schedule', message: expect.stringContaining(words) }]);
  });
});
