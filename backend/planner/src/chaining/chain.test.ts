import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BadProblem } from '../bad-problem.js';
import { seededRandom } from '../random.js';
import { arbitraryChaining, bestPath, mixedNetwork, randomSla } from '../testing/chaining.js';
import { chain, route } from './chain.js';
import { copyOf, prepareNetwork, takeCapacity } from './network.js';
import type { ChainInstance, ChainNetwork, ChainRequest, DeployOption } from './problem.js';
import { serveInTurn } from './serve.js';
import type { ChainStrategy } from './strategies.js';

const instance = (id: string, f: number, node: number, change: Partial<ChainInstance> = {}): ChainInstance => ({
  id,
  function: f,
  node,
  latency_us: 1,
  throughput_free_bps: 100,
  capacity_per_chain: 0,
  capacity_per_bps: 1,
  ...change,
});
const option = (id: string, f: number, node: number, change: Partial<DeployOption> = {}): DeployOption => ({
  ...instance(id, f, node),
  cost: 1,
  capacity_fixed: 0,
  ...change,
});
/** Nodes in a full mesh where every way takes 1 us, but for those in `far`. */
function network(
  instances: ChainInstance[],
  far: Record<string, number> = {},
  options: DeployOption[] = [],
  capacities = [100, 100, 100, 100, 100],
): ChainNetwork {
  const transit = (a: number, b: number) => far[`${a}>${b}`] ?? (a === b ? 0 : 1);
  return {
    functions: ['f1', 'f4', 'f2'],
    nodes: capacities.map((capacity_free, v) => ({ id: `n${v}`, capacity_free, capacity_unit: 'cycles/s' })),
    instances,
    options,
    transit_us: capacities.map((_, a) => capacities.map((__, b) => transit(a, b))),
  };
}
const request = (functions: number[], latency_us = 50, throughput_bps = 10): ChainRequest => ({
  functions,
  ingress: 0,
  egress: 0,
  throughput_bps,
  latency_us,
});
const run = (net: ChainNetwork, it: ChainRequest, strategy: ChainStrategy = 'hyper') =>
  chain(prepareNetwork(net), it, { strategy, seed: 1 });

describe('chain, where the document slips', () => {
  it('adds the egress leg to the last stage, which Algorithm 1 forgets (HYPER IV-B)', () => {
    const net = network([instance('near', 0, 1), instance('far', 0, 2)], { '0>1': 1, '1>0': 60, '0>2': 5, '2>0': 5 });
    expect(run(net, request([0])).path).toEqual([1]);
    const printed = run(net, request([0]), 'hyper-as-printed');
    expect(printed.path).toEqual([0]);
    expect(printed.status).toBe('violates');
    expect(printed.violations).toEqual([
      { constraint: 'latency', needed: 62, available: 50, unit: 'us', where: 'the whole path' },
    ]);
  });

  it('compares ways into a node before latency_p is added, where Algorithm 1 lets a longer way win (line 6)', () => {
    const net = network([instance('a', 0, 1), instance('b', 0, 2), instance('slow', 1, 3, { latency_us: 20 })], {
      '1>3': 1,
      '2>3': 15,
    });
    expect(run(net, request([0, 1], 30)).path).toEqual([0, 2]);
    expect(run(net, request([0, 1], 30), 'hyper-as-printed').status).not.toBe('qualifies');
  });

  it('lets a node serve one of two functions that it cannot serve together, which step 3 bars from both', () => {
    const net = network(
      [instance('a1', 0, 1), instance('a2', 0, 2), instance('b1', 1, 1)],
      { '0>2': 20 },
      [],
      [100, 15, 100, 100, 100],
    );
    const answer = run(net, request([0, 1]));
    expect(answer.status).toBe('qualifies');
    expect(answer.path).toEqual([1, 2]);
    expect(answer.rounds.map(({ outcome }) => outcome)).toEqual(['capacity', 'qualifies']);
    expect(answer.stages[0]!.rejected).toEqual([
      {
        candidate: 0,
        constraint: { constraint: 'capacity', needed: 20, available: 15, unit: 'cycles/s', where: 'n1' },
      },
    ]);
    expect(run(net, request([0, 1]), 'hyper-as-printed').path).toEqual([]);
  });

  it('misses nothing that the printed loop finds, over thousands of cases in which that loop errs', () => {
    const seen = { missed: 0, broken: 0 };
    fc.assert(
      fc.property(arbitraryChaining(), ({ network: net, request: it }) => {
        const printed = run(net, it, 'hyper-as-printed');
        const ours = run(net, it);
        if (printed.status === 'qualifies') expect(ours.status).toBe('qualifies');
        if (printed.status === 'unknown' && ours.status === 'qualifies') seen.missed++;
        if (printed.status === 'violates') seen.broken++;
      }),
      { numRuns: 3000, seed: 29 },
    );
    expect(Math.min(seen.missed, seen.broken)).toBeGreaterThan(20);
  });
});

describe('chain on the example of HYPER Figure 3', () => {
  const figure = network([
    instance('f1@1', 0, 1),
    instance('f1@4', 0, 4),
    instance('f4@3', 1, 3),
    instance('f2@2', 2, 2),
  ]);

  it('gives the path stage by stage, with its slack', () => {
    const answer = run(figure, request([0, 1, 2]));
    expect(answer).toMatchObject({ status: 'qualifies', path: [0, 2, 3], latency_us: 7, slack_us: 43, egress_us: 1 });
    expect(answer.stages.map(({ elapsed_us }) => elapsed_us)).toEqual([2, 4, 6]);
    expect(answer.stages[0]!.rejected[0]).toEqual({
      candidate: 1,
      constraint: { constraint: 'latency', needed: 7, available: 7, unit: 'us', where: 'f1@4' },
    });
  });

  it('deploys a function that does not run, the cheapest first (step 1)', () => {
    const net = { ...figure, instances: figure.instances.slice(0, 3) };
    const options = [option('dear', 2, 0, { cost: 5 }), option('cheap', 2, 2)];
    const answer = run({ ...net, options }, request([0, 1, 2]));
    expect(answer.deployments).toEqual([4]);
    expect(answer.rounds[0]).toEqual({ over: 'running', latency_us: null, outcome: 'function' });
    expect(run(net, request([0, 1, 2])).conflict!.shortages).toEqual([
      { constraint: 'function', needed: 1, available: 0, unit: 'instances', where: 'f2' },
    ]);
  });

  it('deploys hardware when the latency bound fails, and uses one deployment for two stages (step 2)', () => {
    const slow = network([instance('slow', 0, 1, { latency_us: 30 })], {}, [
      option('board', 0, 1, { capacity_fixed: 5 }),
    ]);
    const answer = run(slow, request([0, 0], 20));
    expect(answer).toMatchObject({ status: 'qualifies', path: [1, 1], deployments: [1], latency_us: 4 });
    expect(answer.rounds[0]).toEqual({ over: 'running', latency_us: 62, outcome: 'latency' });
    expect(answer.stages[0]!.rejected[0]!.constraint).toMatchObject({ constraint: 'latency', available: 20 });
  });
});

describe('chain, when no path qualifies', () => {
  it('names the latency bound alone when even empty capacity does not help', () => {
    const { conflict } = run(network([instance('a', 0, 1)]), request([0], 2));
    expect(conflict).toEqual({
      shortages: [{ constraint: 'latency', needed: 3, available: 2, unit: 'us', where: 'n0 to n0' }],
      parts: ['latency'],
      minimal: true,
      minimum: true,
    });
  });

  it('names the stage whose instances all lack throughput, with the nearest of them', () => {
    const net = network([
      instance('a', 0, 1),
      instance('b', 1, 1, { throughput_free_bps: 4 }),
      instance('c', 1, 2, { throughput_free_bps: 6 }),
    ]);
    expect(run(net, request([0, 1])).conflict!.shortages).toEqual([
      { constraint: 'throughput', needed: 10, available: 6, unit: 'bps', where: 'c' },
    ]);
  });

  it('names both stages that meet on one node, and the latency that keeps one of them there', () => {
    const together = network([instance('a', 0, 1), instance('b', 1, 1)], {}, [], [100, 15, 100, 100, 100]);
    expect(run(together, request([0, 1])).conflict!.shortages).toEqual(
      Array(2).fill({ constraint: 'capacity', needed: 20, available: 15, unit: 'cycles/s', where: 'n1' }),
    );
    const apart = { ...together, instances: [...together.instances, instance('away', 0, 2, { latency_us: 90 })] };
    const { shortages, minimum } = run(apart, request([0, 1])).conflict!;
    expect(shortages.map(({ constraint }) => constraint)).toEqual(['latency', 'capacity', 'capacity']);
    expect(shortages[0]).toMatchObject({ needed: 94, available: 50 });
    expect(minimum).toBe(true);
    const few = { strategy: 'hyper', seed: 1, conflict_steps: 1 } as const;
    expect(chain(prepareNetwork(apart), request([0, 1]), few).conflict!.minimum).toBe(false);
  });

  it('names a set that indeed conflicts and of which no part does', () => {
    const generous = (net: ChainNetwork): ChainNetwork => ({
      ...net,
      nodes: net.nodes.map((it) => ({ ...it, capacity_free: 1e9 })),
      instances: net.instances.map((it) => ({ ...it, throughput_free_bps: 1e9 })),
      options: net.options.map((it) => ({ ...it, throughput_free_bps: 1e9 })),
    });
    let latencyAlone = 0;
    fc.assert(
      fc.property(arbitraryChaining(), ({ network: net, request: it }) => {
        const { status, conflict } = run(net, it);
        fc.pre(status === 'impossible' && !['function', 'connection'].includes(conflict!.shortages[0]!.constraint));
        const kinds = conflict!.shortages.map(({ constraint }) => constraint);
        const alone = kinds.length === 1 && kinds[0] === 'latency';
        expect(alone).toBe(bestPath(generous(net), it) === null);
        if (alone) latencyAlone++;
        if (!kinds.includes('latency')) expect(bestPath(net, { ...it, latency_us: 1e9 })).toBeNull();
        for (const { needed, available } of conflict!.shortages) expect(needed).toBeGreaterThan(available);
      }),
      { numRuns: 1000, seed: 31 },
    );
    expect(latencyAlone).toBeGreaterThan(30);
  });
});

describe('prepareNetwork and chain, given nonsense', () => {
  const good = network([instance('a', 0, 1)]);
  it('refuse it and say where', () => {
    const bad: [Partial<ChainNetwork>, string][] = [
      [{ instances: [instance('a', 9, 1)] }, '/instances/0/function'],
      [{ instances: [instance('a', 0, 1, { latency_us: Number.NaN })] }, '/instances/0/latency_us'],
      [{ options: [option('o', 0, 1, { cost: 0 })] }, '/options/0/cost'],
      [{ transit_us: [] }, '/transit_us'],
      [{ transit_us: good.transit_us.map((row) => row.map(() => -1)) }, '/transit_us/0/0'],
    ];
    for (const [change, field] of bad) expect(() => prepareNetwork({ ...good, ...change })).toThrow(field);
    const prepared = prepareNetwork(good);
    for (const change of [
      { functions: [] },
      { functions: [3] },
      { ingress: 5 },
      { throughput_bps: 0 },
      { latency_us: -1 },
    ])
      expect(() => chain(prepared, { ...request([0]), ...change }, { strategy: 'hyper', seed: 1 })).toThrow(BadProblem);
  });
});

describe('route', () => {
  it('gives the path of chain, and takes microseconds for 20 instances (HYPER VII-E: 1.2 ms)', () => {
    const net = mixedNetwork(2);
    const prepared = prepareNetwork(net);
    const random = seededRandom(9);
    for (let i = 0; i < 300; i++) {
      const it = randomSla(random, net);
      const answer = chain(prepared, it, { strategy: 'hyper', seed: 1 });
      expect(Array.from(route(prepared, it, { strategy: 'hyper', seed: 1 }) ?? [])).toEqual(answer.path);
    }
  });

  it('says that it does not know when its budget ends before its search', () => {
    const net = network([instance('a', 0, 1), instance('b', 1, 1)], {}, [], [100, 15, 100, 100, 100]);
    const options = { strategy: 'hyper', seed: 1, budget: { steps: 0 } } as const;
    expect(chain(prepareNetwork(net), request([0, 1]), options)).toMatchObject({ status: 'unknown', conflict: null });
  });

  it('sees what flows before it took, in a copy that leaves the network as it is', () => {
    const prepared = prepareNetwork(network([instance('a', 0, 1, { throughput_free_bps: 15 })]));
    const copy = copyOf(prepared);
    takeCapacity(copy, [0], 10);
    expect(chain(copy, request([0]), { strategy: 'hyper', seed: 1 }).status).toBe('impossible');
    expect(chain(prepared, request([0]), { strategy: 'hyper', seed: 1 }).status).toBe('qualifies');
    const twice = [0, 1].map(() => ({ request: request([0]), ended: [] }));
    expect(serveInTurn(prepared, twice, { strategy: 'hyper', seed: 1 }).qualified).toBe(1);
  });
});
