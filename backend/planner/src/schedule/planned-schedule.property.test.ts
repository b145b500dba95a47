import { type ClassSlo, nfInstances, Plan, type SchedulingStrategy } from '@orrery/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { pathsOf } from '../check/paths.js';
import { makePlan } from '../plan/make-plan.js';
import { arbitraryChain } from '../testing/arbitrary.js';
import { CATALOGUE } from '../testing/descriptors.js';
import { rack } from '../testing/infrastructure.js';
import { checkGraph } from '../testing/instance-graph.js';
import { checkPlannedSchedule } from '../testing/planned-schedule.js';

const shape = { nfs: ['ids', 'monitor', 'firewall', 'web-cache'], maxNodes: 6, exact: true } as const;
const ABLE = ['scheduler', 'round-robin', 'priority', 'weighted-fair', 'rate-limit'] as const;

const cases = fc.record({
  definition: arbitraryChain(shape),
  rate_bps: fc.constantFrom(1e6, 1e8, 1e9, 3e9),
  servers: fc.constantFrom(1, 1, 4),
  cores: fc.integer({ min: 1, max: 4 }),
  scheduling: fc.constantFrom<SchedulingStrategy>('alpine', 'alpine', 'semi-manual', 'run-to-completion', 'manual'),
  scheduling_mode: fc.constantFrom('constrained' as const, 'free' as const),
  slos: fc.array(
    fc.record({
      a: fc.nat(63),
      b: fc.nat(63),
      kind: fc.constantFrom('cpu-time', 'throughput', 'priority'),
      ratio: fc.integer({ min: 1, max: 4 }),
    }),
    { maxLength: 3 },
  ),
  neighbour: fc.boolean(),
  schedule: fc.constantFrom('planned' as const, 'split' as const),
});

describe('a planned schedule', () => {
  it('is the same in graph, scheduler trees and prediction', () => {
    const seen = { plans: 0, cuts: 0, cores: 0, shared: 0, objectives: 0, refused: 0 };
    fc.assert(
      fc.property(
        cases,
        ({ definition, rate_bps, servers, cores, scheduling, scheduling_mode, slos, neighbour, schedule }) => {
          const chain = {
            ...definition,
            class_slos: objectivesFor(definition, slos),
            traffic_class: { ...definition.traffic_class, rate_bps },
          };
          const infrastructure = rack({ servers, cores, ghz: 1, nic_bps: 1e12, link_bps: 1e12 });
          const beside = {
            ...definition,
            name: 'beside',
            traffic_class: { ...definition.traffic_class, from: ['client-2'] },
          };
          const plan = makePlan({
            id: 'plan',
            created_ms: 0,
            options: { scheduling, scheduling_mode },
            chains: [
              { chain_id: 'p-1', version: 1, definition: chain, schedule },
              ...(neighbour ? [{ chain_id: 'p-2', version: 1, definition: beside }] : []),
            ],
            descriptors: CATALOGUE,
            infrastructure,
            abilities: Object.fromEntries(infrastructure.servers.map(({ id }) => [id, ABLE])),
            base: null,
            budget: { steps: 20 },
          });
          expect(() => Plan.parse(plan)).not.toThrow();
          if (!plan.feasible) {
            seen.refused++;
            expect(plan.problems.length + plan.conflicts.length).toBeGreaterThan(0);
            return;
          }
          checkGraph(plan.graph);
          const { queues, workers } = checkPlannedSchedule(plan, 'p-1', CATALOGUE, infrastructure);
          seen.plans++;
          if (queues > 1) seen.cuts++;
          if (workers > 1) seen.cores++;
          if (neighbour && sharesCore(plan)) seen.shared++;
          if (plan.schedules[0]!.objectives.length > 0) seen.objectives++;
        },
      ),
      { numRuns: 1000, seed: 1 },
    );
    for (const [what, count] of Object.entries(seen)) expect(count, what).toBeGreaterThan(25);
  });
});

function sharesCore({ graph }: Plan): boolean {
  const cores = (chain: string) =>
    nfInstances(graph).flatMap(({ chain_id, server, core }) => (chain_id === chain ? [`${server}/${core}`] : []));
  return cores('p-1').some((core) => cores('p-2').includes(core));
}

interface DrawnObjective {
  readonly a: number;
  readonly b: number;
  readonly kind: string;
  readonly ratio: number;
}

/** Objectives between edges that one path alone takes. */
function objectivesFor(definition: Parameters<typeof pathsOf>[0], slos: readonly DrawnObjective[]): ClassSlo[] {
  const paths = pathsOf(definition) ?? [];
  const alone = definition.edges.filter(({ id }) => paths.filter(({ edges }) => edges.includes(id)).length === 1);
  const used = new Set<string>();
  return slos.flatMap(({ a, b, kind, ratio }, i): ClassSlo[] => {
    if (alone.length < 2) return [];
    const [x, y] = [alone[a % alone.length]!.id, alone[b % alone.length]!.id];
    const classOf = (edge: string) => paths.findIndex(({ edges }) => edges.includes(edge));
    const pair = [classOf(x), classOf(y)].sort().join();
    if (classOf(x) === classOf(y) || used.has(pair)) return [];
    used.add(pair);
    const id = `o${i}`;
    return [
      kind === 'priority' ? { id, kind, above: x, below: y } : { id, kind: kind as 'cpu-time', a: x, b: y, ratio },
    ];
  });
}
