import {
  type ChainDefinition,
  ChainingStrategy,
  ParallelStrategy,
  Plan,
  PlanStrategy,
  SchedulingMode,
  SchedulingStrategy,
} from '@orrery/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { pathsOf } from '../check/paths.js';
import { arbitraryChain } from '../testing/arbitrary.js';
import { chainOf } from '../testing/chains.js';
import { CATALOGUE } from '../testing/descriptors.js';
import { rack } from '../testing/infrastructure.js';
import type { PlanInput } from './input.js';
import { makePlan } from './make-plan.js';

const options = fc.record({
  strategy: fc.constantFrom(...PlanStrategy.options),
  chaining: fc.constantFrom(...ChainingStrategy.options),
  parallelization: fc.constantFrom(...ParallelStrategy.options),
  scheduling: fc.constantFrom('alpine', 'alpine', 'alpine', ...SchedulingStrategy.options),
  scheduling_mode: fc.constantFrom('constrained', 'constrained', ...SchedulingMode.options),
  seed: fc.nat(1000),
});

/** Mostly edges that one way alone takes. */
const edge = (definition: ChainDefinition) => {
  const all = definition.edges.map(({ id }) => id);
  const paths = pathsOf(definition) ?? [];
  const own = all.filter((id) => paths.filter(({ edges }) => edges.includes(id)).length === 1);
  return own.length < 2
    ? fc.constantFrom(...all)
    : fc.oneof({ weight: 8, arbitrary: fc.constantFrom(...own) }, fc.constantFrom(...all));
};

/** Objectives between edges drawn without regard to whether they make sense. */
const withClassSlos = (definition: ChainDefinition): fc.Arbitrary<ChainDefinition> =>
  fc
    .array(
      fc.tuple(
        fc.constantFrom('cpu-time', 'throughput', 'priority'),
        edge(definition),
        edge(definition),
        fc.constantFrom(0.5, 1, 30, 30),
      ),
      { maxLength: 3 },
    )
    .map((drawn) => ({
      ...definition,
      class_slos: drawn.map(([kind, x, y, ratio], i) =>
        kind === 'priority'
          ? { id: `s${i}`, kind, above: x, below: y }
          : { id: `s${i}`, kind: kind as 'cpu-time' | 'throughput', a: x, b: y, ratio },
      ),
    }));

const definitions = arbitraryChain({
  nfs: ['ids', 'ids', 'monitor', 'firewall', 'nat'],
  maxNodes: 6,
  exact: true,
}).chain(withClassSlos);

const inputs = fc
  .record({
    definition: definitions,
    options,
    rate_bps: fc.constantFrom(0, 1e6, 4e9),
    packet_bytes: fc.constantFrom(64, 800, 9000),
    servers: fc.integer({ min: 1, max: 6 }),
    cores: fc.integer({ min: 1, max: 4 }),
    percentile: fc.constantFrom(10, 50, 90, 99),
    max_us: fc.constantFrom(0.001, 10, 1e6),
  })
  .map(
    ({ definition, rate_bps, packet_bytes, servers, cores, percentile, max_us, options: chosen }): PlanInput => ({
      id: 'plan',
      created_ms: 0,
      options: chosen,
      chains: [
        {
          chain_id: 'p-1',
          version: 1,
          definition: {
            ...definition,
            traffic_class: { ...definition.traffic_class, rate_bps, packet_bytes },
            slos: [{ id: 'fast', kind: 'latency', percentile, max_us }],
          },
        },
      ],
      descriptors: CATALOGUE,
      infrastructure: rack({ servers, cores, ghz: 1, nic_bps: 1e11, link_bps: 1e11 }),
      base: null,
      budget: { steps: 20 },
    }),
  );

describe('whatever is drawn and asked for', () => {
  it('a plan follows the contract, is the same again, and no answer is better than its bound', () => {
    const seen = { feasible: 0, scheduled: 0, unschedulable: 0, contradictory: 0, ways: 0, hopeless: 0 };
    fc.assert(
      fc.property(inputs, (input) => {
        const plan = makePlan(input);
        expect(Plan.safeParse(plan).error?.issues ?? []).toEqual([]);
        expect(makePlan(input)).toEqual(plan);
        if (plan.problems.some(({ pointer }) => pointer.startsWith('/class_slos'))) seen.contradictory++;
        if (!plan.feasible) {
          expect(plan.problems.length + plan.conflicts.length).toBeGreaterThan(0);
          return;
        }
        seen.feasible++;
        for (const { value, bound, gap, optimal } of plan.quality) {
          expect(bound).toBeLessThanOrEqual(value * (1 + 1e-9));
          expect(optimal).toBe(gap < 1e-9);
        }
        for (const { mean_us, p50_us, p99_us, least_us, way } of plan.classes) {
          expect(p50_us).toBeGreaterThanOrEqual(least_us * (1 - 1e-9));
          expect(p99_us).toBeGreaterThanOrEqual(p50_us! * (1 - 1e-9));
          expect(p99_us).toBeGreaterThanOrEqual(mean_us * (1 - 1e-6));
          expect(mean_us).toBeGreaterThanOrEqual(least_us * (1 - 1e-9));
          if (way) expect(way.latency_us).toBeGreaterThanOrEqual(way.bound_us * (1 - 1e-9));
          seen.ways += way ? 1 : 0;
        }
        for (const { latency_us, critical_path_us, sequential_us } of plan.parallel) {
          expect(latency_us).toBeGreaterThanOrEqual(critical_path_us * (1 - 1e-9));
          expect(sequential_us).toBeGreaterThanOrEqual(critical_path_us * (1 - 1e-9));
        }
        const other = makePlan({ ...input, options: { ...input.options, strategy: 'random', seed: 7 } });
        plan.slos.forEach(({ attainable, predicted, constraint }, i) => {
          expect(attainable).toBeLessThanOrEqual(predicted);
          if (other.feasible) expect(attainable).toBeLessThanOrEqual(other.slos[i]!.predicted * (1 + 1e-9));
          if (constraint) seen.hopeless++;
        });
        for (const schedule of plan.schedules) {
          if (!schedule.feasible) seen.unschedulable++;
          else if (schedule.objectives.length > 0) seen.scheduled++;
          expect(schedule.feasible || schedule.conflicts.length > 0).toBe(true);
        }
      }),
      { numRuns: 350, seed: 1 },
    );
    for (const [what, count] of Object.entries(seen)) expect(count, what).toBeGreaterThan(0);
  });

  it('traffic over the switch is shared by the classes as the edges say', () => {
    fc.assert(
      fc.property(inputs, (input) => {
        const plan = makePlan(input);
        fc.pre(plan.feasible && plan.classes.length > 0);
        const total = input.chains[0]!.definition.traffic_class.rate_bps;
        const sum = plan.classes.reduce((all, { rate_bps }) => all + rate_bps, 0);
        expect(sum).toBeCloseTo(total, -3);
        for (const edgeOf of plan.pgraph.edges) {
          const through = plan.classes.filter(({ edges }) => edges.some((id) => edgeOf.id === `p.${id}`));
          expect(through.reduce((all, { rate_bps }) => all + rate_bps, 0)).toBeCloseTo(edgeOf.rate_bps, -3);
        }
      }),
      { numRuns: 80 },
    );
  });

  it('the longest chain and the most branched graph that the contract allows are planned', () => {
    const ids = Array.from({ length: 198 }, (_, i) => `n${i}`);
    const long = chainOf(Object.fromEntries(ids.map((id) => [id, 'monitor'])), [
      ['in', 'n0'],
      ...ids.slice(1).map((id, i): [string, string] => [ids[i]!, id]),
      ['n197', 'out'],
    ]);
    const rungs = Array.from({ length: 8 }, (_, i) => i);
    const ladder = chainOf(
      Object.fromEntries(
        rungs.flatMap((i) => [
          [`a${i}`, 'ids'],
          [`b${i}`, 'monitor'],
          [`c${i}`, 'firewall'],
        ]),
      ),
      [
        ['in', 'a0'],
        ...rungs.flatMap((i): Parameters<typeof chainOf>[1] => {
          const next = i === rungs.length - 1 ? 'out' : `a${i + 1}`;
          return [
            [`a${i}`, `b${i}`, [[`a${i}.verdict`, 'is', 'safe']]],
            [`a${i}`, `c${i}`, [[`a${i}.verdict`, 'is-not', 'safe']]],
            [`b${i}`, next],
            [`c${i}`, next],
          ];
        }),
      ],
    );
    for (const definition of [long, ladder]) {
      const plan = makePlan({
        id: 'plan',
        created_ms: 0,
        chains: [{ chain_id: 'p-1', version: 1, definition }],
        descriptors: CATALOGUE,
        infrastructure: rack({ servers: 12, cores: 16 }),
        base: null,
        budget: { steps: 100 },
      });
      expect(plan.feasible).toBe(true);
      expect(Plan.safeParse(plan).success).toBe(true);
    }
  });
});
