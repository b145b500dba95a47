import {
  type ChainDefinition,
  EngineAbility,
  Infrastructure,
  NfDescriptor,
  Plan,
  PlanStrategy,
} from '@orrery/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BadProblem } from '../bad-problem.js';
import { OutOfTime } from '../budget.js';
import { arbitraryChain } from '../testing/arbitrary.js';
import { chainOf } from '../testing/chains.js';
import { CATALOGUE } from '../testing/descriptors.js';
import { rack } from '../testing/infrastructure.js';
import type { PlanInput } from './input.js';
import { makePlan } from './make-plan.js';

/** What the contract lets through from 0 to `most`, mostly at its ends. */
const from0 = (most: number) =>
  fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(0, 5e-324, 1e-300, 1e-31, 1e-12, 1e-9, 0.3, most) },
    { weight: 3, arbitrary: fc.double({ min: 0, max: most, noNaN: true }) },
  );
const ends = (least: number, most: number, usual: number) => fc.constantFrom(least, usual, usual, most);
const rate = fc.oneof({ weight: 2, arbitrary: fc.constantFrom(1e6, 1e9) }, { weight: 3, arbitrary: from0(1e13) });

const costs = fc.record({
  cycles_per_packet: ends(0.001, 1e9, 1000),
  cycles_per_byte: from0(1e6),
  base_latency_us: from0(1e9),
  memory_bytes: ends(0, 2 ** 50, 1e6),
});

/** Every NF in software, in a container and on a board. */
const catalogues = fc
  .record({ software: costs, container: costs, board: costs, need: from0(1e9) })
  .map(({ software, container, board, need }) =>
    CATALOGUE.map((descriptor) =>
      NfDescriptor.parse({
        ...descriptor,
        implementations: [
          { kind: 'software', driver: 'engine', cost: software },
          { kind: 'container', driver: 'container', cost: container },
          { kind: 'board', driver: 'board', cost: board, resources: { lut: need } },
        ],
      }),
    ),
  );

const infrastructures = fc
  .record({
    servers: fc.constantFrom(1, 2, 3, 4, 40),
    cores: fc.constantFrom(1, 2, 512),
    ghz: ends(0.01, 10, 2),
    memory_bytes: ends(0, 2 ** 50, 1e9),
    nic_bps: rate,
    link_bps: ends(1000, 1e13, 1e11),
    delay_us: from0(1e7),
    table_entries: ends(16, 1_000_000, 1000),
    board: fc.record({
      bandwidth_bps: rate,
      latency_us: from0(1e9),
      clock_mhz: ends(1, 2000, 200),
      cost: ends(1e-6, 1e9, 1),
      lut: from0(1e9),
      slots: fc.constantFrom(1, 16),
    }),
  })
  .map(({ delay_us, board: { lut, ...board }, ...drawn }): Infrastructure => {
    const plain = rack(drawn);
    const at = { id: 'board-1', origin: 'twin', server: 'server-1', device: 'device', resources: { lut } };
    return Infrastructure.parse({
      ...plain,
      links: plain.links.map((link) => ({ ...link, delay_us })),
      boards: [{ ...at, ...board }],
    });
  });

const definitions = fc
  .record({
    definition: arbitraryChain({ nfs: ['ids', 'monitor', 'firewall', 'nat'], maxNodes: 5, exact: true }),
    rate_bps: rate,
    packet_bytes: fc.constantFrom(64, 800, 9000),
    estimates: fc.array(fc.option(from0(1e13), { nil: undefined }), { minLength: 20, maxLength: 20 }),
    max_us: ends(0.001, 1e9, 100),
    min_bps: from0(1e13),
  })
  .map(({ definition, rate_bps, packet_bytes, estimates, max_us, min_bps }): ChainDefinition => {
    const edges = definition.edges.map((edge, i) => {
      const estimate = estimates[i % estimates.length];
      return estimate === undefined ? edge : { ...edge, rate_bps: estimate };
    });
    return {
      ...definition,
      edges,
      traffic_class: { ...definition.traffic_class, rate_bps, packet_bytes },
      slos: [
        { id: 'fast', kind: 'latency', percentile: 99, max_us },
        { id: 'much', kind: 'throughput', min_bps },
      ],
    };
  });

const inputs = fc
  .record({
    definition: definitions,
    strategy: fc.constantFrom(...PlanStrategy.options),
    infrastructure: infrastructures,
    descriptors: catalogues,
    on: fc.constantFrom('software', 'software', 'container', 'board', undefined),
    execution: fc.constantFrom('sequential', 'parallel'),
    schedule: fc.constantFrom('round-robin', 'planned'),
  })
  .map(
    ({ definition, strategy, infrastructure, descriptors, on, execution, schedule }): PlanInput => ({
      id: 'plan',
      created_ms: 0,
      options: { strategy },
      chains: [{ chain_id: 'p-1', version: 1, definition, execution, schedule }],
      descriptors,
      infrastructure,
      container_servers: infrastructure.servers.map(({ id }) => id),
      abilities: Object.fromEntries(infrastructure.servers.map(({ id }) => [id, EngineAbility.options])),
      implementations:
        on === undefined
          ? []
          : definition.nodes.flatMap(({ kind, id }) =>
              kind === 'nf' ? [{ chain_id: 'p-1', node_id: id, on, load: 'partial', policy: 'hold' }] : [],
            ),
      base: null,
      budget: { steps: 50 },
    }),
  );

/** Whether the pointer names a field of the value. */
function names(value: unknown, pointer: string): boolean {
  let at = value;
  for (const key of pointer.split('/').slice(1)) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, key)) return false;
    at = (at as Record<string, unknown>)[key];
  }
  return true;
}

function numbersIn(value: unknown): number[] {
  if (typeof value === 'number') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(numbersIn) : [];
}

const RUNS = 600;

/** As the server plans by default. */
const TIME_LIMIT_MS = 10_000;

/** The plan, or the pointer of the error; `null`: a slow machine had no time for it. Any other error fails the test. */
function planOf(input: PlanInput): Plan | string | null {
  const end = performance.now() + TIME_LIMIT_MS;
  try {
    return makePlan({ ...input, budget: { ...input.budget, expired: () => performance.now() > end } });
  } catch (error) {
    if (error instanceof OutOfTime) return null;
    if (!(error instanceof BadProblem)) throw error;
    return error.field;
  }
}

describe('figures at the ends of what the contract allows', () => {
  it('make a plan of finite figures, or the error names the field that was given', () => {
    let outOfTime = 0;
    const seen = { feasible: 0, infeasible: 0, containers: 0, boards: 0, scheduled: 0 };
    fc.assert(
      fc.property(inputs, (input) => {
        const plan = planOf(input);
        if (plan === null) {
          outOfTime++;
          return;
        }
        if (typeof plan === 'string') {
          expect([plan, names(input, plan)]).toEqual([plan, true]);
          return;
        }
        expect(Plan.safeParse(plan).error?.issues ?? []).toEqual([]);
        expect(numbersIn(plan).filter((figure) => !Number.isFinite(figure))).toEqual([]);
        seen[plan.feasible ? 'feasible' : 'infeasible']++;
        const drivers = new Set(
          Object.values(plan.nodes).flatMap(({ instances }) => instances.map(({ driver }) => driver)),
        );
        if (drivers.has('container')) seen.containers++;
        if (drivers.has('board')) seen.boards++;
        if (plan.schedules.some(({ feasible }) => feasible)) seen.scheduled++;
      }),
      { numRuns: RUNS, seed: 61 },
    );
    expect(outOfTime, 'plans for which there was no time').toBeLessThan(RUNS / 10);
    for (const [what, count] of Object.entries(seen)) expect(count, what).toBeGreaterThan(0);
  });

  it.each([5e-324, 1e-300, 1e-12, 1e-9])('an estimate of %s bit/s at every branch of a chain makes a plan', (least) => {
    const depth = 6;
    const ids = Array.from({ length: depth }, (_, i) => `n${i}`);
    const definition = chainOf(Object.fromEntries(ids.map((id) => [id, 'ids'])), [
      ['in', 'n0'],
      ...ids.flatMap((id, i): Parameters<typeof chainOf>[1] => [
        [id, ids[i + 1] ?? 'out', [[`${id}.verdict`, 'is', 'safe']]],
        [id, 'out', [[`${id}.verdict`, 'is-not', 'safe']]],
      ]),
    ]);
    const edges = definition.edges.map((edge) => ({ ...edge, rate_bps: edge.to === 'out' ? 1e13 : least }));
    const plan = planOf({
      id: 'plan',
      created_ms: 0,
      chains: [{ chain_id: 'p-1', version: 1, definition: { ...definition, edges } }],
      descriptors: CATALOGUE,
      infrastructure: rack({ cores: 64 }),
      base: null,
      budget: { steps: 50 },
    });
    expect(plan).toMatchObject({ feasible: true });
    expect(numbersIn(plan).filter((figure) => !Number.isFinite(figure))).toEqual([]);
  });
});
