import { ChainDefinition } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { OutOfTime } from '../budget.js';
import { binsOf } from '../placement/problem.js';
import { makePlan } from '../plan/make-plan.js';
import { seededRandom } from '../random.js';
import { chainOf, ofOwnPort } from '../testing/chains.js';
import { CATALOGUE, descriptor } from '../testing/descriptors.js';
import { rack } from '../testing/infrastructure.js';
import { gammaQuantile } from './gamma.js';
import { FABRIC_HOP_US, WAKE_UP_US } from './overhead.js';
import { predictSlos } from './predict.js';

/** One microsecond a packet at 1 GHz, without base latency. */
const nf = (id: string) => {
  const it = descriptor(id, { cycles: 1000 });
  it.implementations[0]!.cost.base_latency_us = 0;
  return it;
};
const SLOS = [
  { id: 'median', kind: 'latency', percentile: 50, max_us: 1 },
  { id: 'tail', kind: 'latency', percentile: 99, max_us: 100 },
  { id: 'rate', kind: 'throughput', min_bps: 1e9 },
];
const predict = (definition: ChainDefinition, servers = 1) => {
  const plan = makePlan({
    id: 'plan',
    created_ms: 0,

    chains: [{ chain_id: 'p-1', version: 1, definition }],
    descriptors: [nf('a'), nf('b')],
    infrastructure: rack({ servers, cores: 1, ghz: 1, nic_bps: 1e11, link_bps: 5e10 }),
    base: null,
    budget: { steps: 50 },
  });
  expect(plan.feasible).toBe(true);
  return { plan, slo: Object.fromEntries(plan.slos.map((slo) => [slo.slo_id, slo])) };
};
/** Utilization of one core by one-microsecond packets of 800 bytes. */
const rateFor = (utilization: number) => utilization * 1e6 * 8 * 800;

describe('predictSlos', () => {
  const alone = (utilization: number) =>
    predict(
      chainOf(
        { a: 'a' },
        [
          ['in', 'a'],
          ['a', 'out'],
        ],
        { rate_bps: rateFor(utilization), slos: SLOS },
      ),
    ).slo;

  it('comes nearer to the M/M/1 percentile the less the core sleeps', () => {
    const excess = (utilization: number) =>
      alone(utilization).tail!.predicted / ((1 / (1 - utilization)) * Math.log(100)) - 1;
    const [much, some, little] = [0.3, 0.6, 0.8].map(excess) as [number, number, number];
    expect(little).toBeGreaterThan(0);
    expect(some).toBeGreaterThan(2 * little);
    expect(much).toBeGreaterThan(2 * some);
  });

  it('is the wake-up of a core that hardly works', () => {
    const { median, tail } = alone(1e-6);
    const mean = WAKE_UP_US + 1;
    expect(median!.predicted).toBeGreaterThan(WAKE_UP_US * Math.log(2));
    expect(tail!.predicted / (mean * Math.log(100))).toBeGreaterThan(0.85);
    expect(tail!.predicted / (mean * Math.log(100))).toBeLessThan(1);
    expect(tail).toMatchObject({ met: true, target: 100 });
  });

  it('finds the rate at which the busiest core is full', () => {
    const { slo } = predict(
      chainOf(
        { a: 'a' },
        [
          ['in', 'a'],
          ['a', 'out'],
        ],
        { rate_bps: rateFor(0.5), slos: SLOS },
      ),
    );
    expect(slo.rate).toMatchObject({ kind: 'throughput', unit: 'bps', met: true });
    expect(slo.rate!.predicted).toBeCloseTo(rateFor(1), 0);
    expect(slo.rate!.model).toContain('core server-1/0');
  });

  it('adds the fabric where instances stand on two servers', () => {
    const definition = chainOf(
      { a: 'a', b: 'b' },
      [
        ['in', 'a'],
        ['a', 'b'],
        ['b', 'out'],
      ],
      {
        rate_bps: rateFor(0.6),
        slos: SLOS,
      },
    );
    const { plan, slo } = predict(definition, 2);
    expect(plan.cost.cross_traffic_bps).toBeGreaterThan(0);
    expect(slo.median!.predicted).toBeGreaterThan(FABRIC_HOP_US);
    expect(slo.median!.predicted).toBeLessThan(FABRIC_HOP_US + 10 + 2 * WAKE_UP_US);
  });

  it('agrees with a simulation of random service times over two branches', () => {
    const definition = chainOf(
      { a: 'a', b: 'b' },
      [
        ['in', 'a'],
        ['a', 'b', [['port.dst', 'is', 80]], rateFor(0.1)],
        ['a', 'out', [['port.dst', 'is-not', 80]]],
        ['b', 'out'],
      ],
      { rate_bps: rateFor(0.4), slos: SLOS },
    );
    const { slo } = predict(definition);
    const random = seededRandom(3);
    const sojourn = () => (-1 / (1 - 0.5)) * Math.log(1 - random());
    const wakeUp = () => (random() < 0.5 ? -WAKE_UP_US * Math.log(1 - random()) : 0);
    const samples = Array.from(
      { length: 200_000 },
      () => sojourn() + (random() < 0.25 ? sojourn() : 0) + wakeUp(),
    ).sort((x, y) => x - y);
    expect(Math.abs(slo.tail!.predicted / samples[198_000]! - 1)).toBeLessThan(0.05);
    expect(Math.abs(slo.median!.predicted / samples[100_000]! - 1)).toBeLessThan(0.1);
  });

  it('does not promise a rate to a class without an estimate', () => {
    const { slo } = predict(
      chainOf(
        { a: 'a' },
        [
          ['in', 'a'],
          ['a', 'out'],
        ],
        { rate_bps: 0, slos: SLOS },
      ),
    );
    expect(slo.rate).toMatchObject({ predicted: 0, met: false });
  });
});

describe('gammaQuantile', () => {
  it.each([
    [0.5, 1, 1, Math.log(2)],
    [0.95, 4, 8, 9.487729],
    [0.99, 10, 20, 23.209251],
  ])('matches exponential and chi-squared tables at %d', (p, mean, variance, value) => {
    expect(gammaQuantile(p, mean, variance)).toBeCloseTo(value, 4);
  });
});

describe('an objective that cannot hold', () => {
  const hopeless = (slos: ChainDefinition['slos']) =>
    predict(
      chainOf(
        { a: 'a', b: 'b' },
        [
          ['in', 'a'],
          ['a', 'b'],
          ['b', 'out'],
        ],
        { rate_bps: rateFor(0.1), slos },
      ),
    );

  it('says by how much no placement meets it, and warns at its field', () => {
    const { plan, slo } = hopeless([
      { id: 'fast', kind: 'latency', percentile: 99, max_us: 1.5 },
      { id: 'wide', kind: 'throughput', min_bps: 1e12 },
    ]);
    expect(slo.fast).toMatchObject({
      met: false,
      attainable: 2,
      constraint: { constraint: 'latency', needed: 2, available: 1.5, unit: 'us', where: 'p' },
    });
    expect(slo.wide!.constraint).toMatchObject({ constraint: 'throughput', needed: 1e12 });
    expect(plan.problems.map(({ severity, pointer }) => [severity, pointer])).toEqual([
      ['warning', '/slos/0/max_us'],
      ['warning', '/slos/1/min_bps'],
    ]);
  });

  it('is not one that another placement might meet', () => {
    const { plan, slo } = hopeless([{ id: 'tail', kind: 'latency', percentile: 99, max_us: 3 }]);
    expect(slo.tail).toMatchObject({ met: false, constraint: null });
    expect(plan.problems).toEqual([]);
  });
});

describe('predictSlos of many chains', () => {
  /** Every field of the plan's graph, chains and infrastructure that is read. */
  function reads(count: number): number {
    const chains = Array.from({ length: count }, (_, i) => {
      const chain = ofOwnPort(i, 1e7);
      return { ...chain, definition: ChainDefinition.parse({ ...chain.definition, slos: SLOS }) };
    });
    const infrastructure = rack({ servers: 4, cores: 8 });
    const about = { chains, descriptors: CATALOGUE, infrastructure };
    const plan = makePlan({ id: 'plan', created_ms: 0, ...about, base: null, budget: { steps: 0 } });
    expect(plan.feasible).toBe(true);
    let seen = 0;
    const get = (target: object, field: string | symbol) => {
      seen++;
      return Reflect.get(target, field);
    };
    const counted = <T extends object>(all: readonly T[]) => all.map((it): T => new Proxy<T>(it, { get }));
    const { graph, pgraph } = plan;
    const slo = predictSlos({
      ...about,
      chains: counted(chains),
      bins: binsOf(infrastructure),
      pgraph: { nodes: counted(pgraph.nodes), edges: counted(pgraph.edges) },
      graph: { nodes: counted(graph.nodes), edges: counted(graph.edges) },
    });
    expect(slo).toEqual(plan.slos);
    return seen;
  }

  it('looks at each of them, not at all for each', () => {
    expect(reads(80) / reads(20)).toBeLessThan(4.5);
  });

  it('ends with the time', () => {
    const { plan } = predict(
      chainOf(
        { a: 'a' },
        [
          ['in', 'a'],
          ['a', 'out'],
        ],
        { rate_bps: rateFor(0.5), slos: SLOS },
      ),
    );
    const infrastructure = rack({ servers: 1, cores: 1, ghz: 1 });
    const { chains, graph, pgraph } = plan;
    const about = { chains, graph, pgraph, descriptors: [nf('a')], infrastructure, bins: binsOf(infrastructure) };
    expect(() => predictSlos(about, { expired: () => true })).toThrow(OutOfTime);
  });
});
