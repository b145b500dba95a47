import type { Plan, Quality } from '@orrery/contract';
import { beforeAll, describe, expect, it } from 'vitest';
import { COPY, MERGE } from '../engine-costs.js';
import { cyclesPerPacket } from '../igraph/sizing.js';
import { ASSUMED_ABILITIES } from '../lower/switch/abilities.js';
import type { Solver } from '../solver/linear-model.js';
import { chainOf } from '../testing/chains.js';
import { unhurried } from '../testing/clock.js';
import { withContainer } from '../testing/containers.js';
import { descriptor } from '../testing/descriptors.js';
import { testSolver } from '../testing/highs.js';
import { rack } from '../testing/infrastructure.js';
import { certifyPlan } from './certify-plan.js';
import type { PlanInput } from './input.js';
import { makePlan } from './make-plan.js';

let solve: Solver;
beforeAll(async () => {
  solve = await testSolver();
});

const idle = { reads: [], writes: [], adds: [], removes: [], may_drop: false };
const DESCRIPTORS = ['a', 'b', 'c', 'd'].map((id) =>
  descriptor(id, { actions: idle, state: { kind: 'none', key: [] } }),
);
const INFRASTRUCTURE = rack({ servers: 4, cores: 2, ghz: 1, nic_bps: 1e11, link_bps: 1e11 });

/** Four NFs of one to two cores each on servers of two, and objectives between the two ways out. */
const INPUT: PlanInput = {
  id: 'plan',
  created_ms: 0,
  chains: [
    {
      chain_id: 'p-1',
      version: 1,
      definition: {
        ...chainOf(
          { a: 'a', b: 'b', c: 'c', d: 'd' },
          [
            ['in', 'a'],
            ['a', 'b'],
            ['b', 'c', [['port.dst', 'is', 80]]],
            ['b', 'd', [['port.dst', 'is-not', 80]]],
            ['c', 'out'],
            ['d', 'out'],
          ],
          { rate_bps: 8e9 },
        ),
        class_slos: [{ id: 'share', kind: 'cpu-time', a: 'e2', b: 'e3', ratio: 1.3 }],
      },
    },
  ],
  descriptors: DESCRIPTORS,
  infrastructure: INFRASTRUCTURE,
  base: null,
  budget: { steps: 50 },
};
const plan = makePlan(INPUT);

/** Steps of the exact search of placement. */
const PLENTY = unhurried(1_000_000);

const certify = async (it: Plan, descriptors = DESCRIPTORS) =>
  (await certifyPlan({ plan: it, descriptors, infrastructure: INFRASTRUCTURE }, solve, PLENTY))!;
const named = (quality: readonly Quality[]) => quality.map(({ part, subject }) => `${part} ${subject}`);

describe('certifyPlan', () => {
  it('keeps every answer, never loosens a bound, and proves what is optimal', async () => {
    expect(plan.feasible).toBe(true);
    const proven = await certify(plan);
    expect(named(proven)).toEqual(named(plan.quality));
    expect(new Set(proven.map(({ part }) => part))).toEqual(
      new Set(['placement', 'chaining', 'parallelization', 'provisioning', 'scheduling']),
    );
    proven.forEach(({ value, bound }, i) => {
      expect(value).toBe(plan.quality[i]!.value);
      expect(bound).toBeGreaterThanOrEqual(plan.quality[i]!.bound);
      expect(bound).toBeLessThanOrEqual(value * (1 + 1e-9));
    });
    expect(proven.find(({ part }) => part === 'placement')).toMatchObject({ optimal: true });
  });

  it('tightens bounds that the plan left loose', async () => {
    const loose = plan.quality.map((it) => ({ ...it, bound: 0, gap: it.value > 0 ? 1 : 0, optimal: it.value === 0 }));
    const proven = await certify({ ...plan, quality: loose });
    const tightened = proven.filter(({ bound }, i) => bound > loose[i]!.bound).map(({ part }) => part);
    expect(new Set(tightened)).toEqual(new Set(['placement', 'parallelization', 'provisioning', 'scheduling']));
    for (const { part, optimal } of proven)
      if (part === 'placement' || part === 'scheduling') expect(optimal, part).toBe(true);
    /** Above the critical path lies what its one mirror and its one merge take. */
    const step_us = (cyclesPerPacket(COPY, 800) + cyclesPerPacket(MERGE, 800)) / 1e3;
    for (const { part, value, bound } of proven)
      if (part === 'parallelization') expect(value - bound).toBeLessThan(step_us + 1e-9);
  });

  it('keeps what it has when its time is over, and refuses other descriptors', async () => {
    const over = unhurried(1_000_000, -1);
    const input = { plan, descriptors: DESCRIPTORS, infrastructure: INFRASTRUCTURE };
    expect(await certifyPlan(input, solve, over)).toEqual(plan.quality);
    const slower = DESCRIPTORS.map((it) => ({
      ...it,
      implementations: descriptor(it.id, { cycles: 2000 }).implementations,
    }));
    expect(await certifyPlan({ ...input, descriptors: slower }, solve, PLENTY)).toBeNull();
  });

  it('proves a plan with a container at the cost of one, and none that the catalogue has no more', async () => {
    const descriptors = DESCRIPTORS.map((it) => withContainer(it, { cycles: 1100, base_latency_us: 60 }));
    const implementations = [
      { chain_id: 'p-1', node_id: 'c', on: 'container', load: 'partial', policy: 'hold' } as const,
    ];
    const contained = makePlan({ ...INPUT, descriptors, implementations, container_servers: ['server-4'] });
    expect(contained.feasible).toBe(true);
    expect(contained.parallel[0]!.sequential_us - plan.parallel[0]!.sequential_us).toBeCloseTo(55.1, 6);
    const proven = await certify(contained, descriptors);
    expect(named(proven)).toEqual(named(contained.quality));
    proven.forEach(({ value, bound }, i) => {
      expect(value).toBe(contained.quality[i]!.value);
      expect(bound).toBeGreaterThanOrEqual(contained.quality[i]!.bound);
      expect(bound).toBeLessThanOrEqual(value * (1 + 1e-9));
    });
    expect(await certify(contained)).toBeNull();
  });

  it('proves the placement of a plan in which an engine splits for the switch', async () => {
    const infrastructure = rack({ servers: 8, cores: 2, ghz: 1, nic_bps: 1e12, link_bps: 1e12 });
    const blind = { ...ASSUMED_ABILITIES, groups: { ...ASSUMED_ABILITIES.groups, select: [] } };
    const split = makePlan({
      ...INPUT,
      infrastructure,
      switches: new Map([['switch-1', blind]]),
      budget: { steps: 20_000 },
    });
    expect(split.graph.nodes.filter(({ kind }) => kind === 'split')).toHaveLength(1);
    const loose = split.quality.map((it) => ({ ...it, bound: 0, gap: it.value > 0 ? 1 : 0, optimal: it.value === 0 }));
    const input = { plan: { ...split, quality: loose }, descriptors: DESCRIPTORS, infrastructure };
    const proven = (await certifyPlan(input, solve, PLENTY))!;
    expect(named(proven)).toEqual(named(split.quality));
    expect(proven.find(({ part }) => part === 'placement')).toMatchObject({ optimal: true });
  });
});
