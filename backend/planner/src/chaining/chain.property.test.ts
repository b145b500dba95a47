import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BadProblem } from '../bad-problem.js';
import { seededRandom } from '../random.js';
import {
  arbitraryChaining,
  bestPath,
  candidatesOf,
  figuresOf,
  keepsParts,
  mixedNetwork,
  randomSla,
} from '../testing/chaining.js';
import { type ChainOptions, chain } from './chain.js';
import type { ChainConflict, ConflictPart } from './conflicts.js';
import { prepareNetwork } from './network.js';
import type { ChainInstance, ChainNetwork, ChainRequest } from './problem.js';
import { type Arrival, serveInTurn } from './serve.js';
import { CHAIN_STRATEGIES } from './strategies.js';

const HYPER: ChainOptions = { strategy: 'hyper', seed: 1 };
const run = (network: ChainNetwork, request: ChainRequest, options = HYPER) =>
  chain(prepareNetwork(network), request, options);

describe('chain, beside every path there is', () => {
  it('finds the cheapest deployments and the least latency, and says that there is no path exactly when there is none', () => {
    const seen = { running: 0, deployed: 0, shared: 0, impossible: 0, pairs: 0, repeated: 0 };
    fc.assert(
      fc.property(arbitraryChaining(), ({ network, request }) => {
        const best = bestPath(network, request);
        const answer = run(network, request);
        if (!best) {
          seen.impossible++;
          expect(answer.status).toBe('impossible');
          expect(answer.conflict!.shortages.length).toBeGreaterThan(0);
          if (answer.conflict!.shortages.length > 1) seen.pairs++;
          return;
        }
        expect(answer.status).toBe('qualifies');
        const figures = figuresOf(network, request, answer.path);
        expect(figures).toEqual({ ...best, fits: true, sound: true });
        expect(answer.latency_us).toBe(best.latency_us);
        expect(answer.lower_bound_us).toBe(best.latency_us);
        expect(answer.slack_us).toBe(request.latency_us - best.latency_us);
        expect(answer.stages.at(-1)!.elapsed_us + answer.egress_us).toBe(best.latency_us);
        const all = candidatesOf(network);
        expect(new Set(answer.deployments)).toEqual(new Set(answer.path.filter((c) => all[c]!.cost > 0)));
        if (best.cost === 0) seen.running++;
        else seen.deployed++;
        if (answer.rounds.some(({ over }) => over === 'running, capacity shared')) seen.shared++;
        if (new Set(answer.path).size < answer.path.length) seen.repeated++;
      }),
      { numRuns: 3000, seed: 17 },
    );
    expect(Math.min(...Object.values(seen))).toBeGreaterThan(50);
  });

  it('names for every candidate that it left out what speaks against it, in figures that say so', () => {
    fc.assert(
      fc.property(arbitraryChaining(), ({ network, request }) => {
        const answer = run(network, request);
        fc.pre(answer.status === 'qualifies');
        const all = candidatesOf(network);
        answer.stages.forEach(({ function: f, candidate, rejected }) => {
          const others = [...all.keys()].filter((c) => all[c]!.function === f && c !== candidate);
          expect(rejected.map((it) => it.candidate)).toEqual(others);
          for (const { constraint } of rejected) expect(constraint.needed).toBeGreaterThanOrEqual(constraint.available);
        });
      }),
      { numRuns: 1500, seed: 19 },
    );
  });

  it('names a conflict of the fewest parts, each of them short of something', () => {
    const seen = { one: 0, two: 0, more: 0 };
    fc.assert(
      fc.property(arbitraryChaining(), ({ network, request }) => {
        const { conflict } = run(network, request);
        if (!conflict || conflict.parts.some((part) => part === 'function' || part === 'connection')) return;
        const { parts, shortages } = conflict;
        seen[parts.length === 1 ? 'one' : parts.length === 2 ? 'two' : 'more']++;
        expect(keepsParts(network, request, parts)).toBe(false);
        expect([conflict.minimal, conflict.minimum]).toEqual([true, parts.length <= 4]);
        const every = ['latency' as const, ...request.functions.keys()];
        for (const set of subsets(every).filter((set) => isSmaller(set, conflict)))
          expect(keepsParts(network, request, set)).toBe(true);
        expect(shortages).toHaveLength(parts.length);
        for (const { needed, available } of shortages) expect(needed).toBeGreaterThan(available);
      }),
      { numRuns: 1200, seed: 23 },
    );
    expect(Math.min(...Object.values(seen))).toBeGreaterThan(5);
  });

  it('says the same in any unit of rate, capacity and cost', () => {
    fc.assert(
      fc.property(
        arbitraryChaining(),
        fc.constantFrom(2 ** -50, 2 ** -34, 2 ** 30),
        fc.constantFrom(1e-14, 1e-10, 1e10),
        ({ network, request }, unit, price) => {
          const scaled = {
            ...network,
            nodes: network.nodes.map((it) => ({ ...it, capacity_free: it.capacity_free * unit })),
            instances: network.instances.map((it) => inUnits(it, unit)),
            options: network.options.map((it) => ({
              ...inUnits(it, unit),
              cost: it.cost * price,
              capacity_fixed: it.capacity_fixed * unit,
            })),
          };
          const [plain, other] = [
            run(network, request),
            run(scaled, { ...request, throughput_bps: request.throughput_bps * unit }),
          ];
          expect(other.status).toBe(plain.status);
          expect(other.path).toEqual(plain.path);
          expect(other.conflict?.parts).toEqual(plain.conflict?.parts);
        },
      ),
      { numRuns: 250, seed: 29 },
    );
  });

  it('ends when its time is over, whatever the steps that are left', () => {
    const network = mixedNetwork(3, 100);
    const request = {
      functions: Array.from({ length: 40 }, (_, k) => k % 4),
      ingress: 0,
      egress: 1,
      throughput_bps: 5e8,
      latency_us: 1e6,
    };
    let looks = 0;
    const expired = () => ++looks > 20;
    const { status } = run(network, request, { ...HYPER, budget: { steps: Number.MAX_SAFE_INTEGER, expired } });
    expect(['unknown', 'qualifies']).toContain(status);
    expect(looks).toBeLessThan(25);
  });

  it('never breaks an SLA unawares, whatever the strategy', () => {
    fc.assert(
      fc.property(arbitraryChaining(), fc.constantFrom(...CHAIN_STRATEGIES), fc.nat(99), (it, strategy, seed) => {
        const { network, request } = it;
        const answer = run(network, request, { strategy, seed });
        if (answer.path.length === 0) return;
        const figures = figuresOf(network, request, answer.path);
        expect(answer.status).toBe(figures.sound ? 'qualifies' : 'violates');
        expect(answer.violations.length > 0).toBe(!figures.sound);
        expect(answer.lower_bound_us).toBeLessThanOrEqual(figures.latency_us);
      }),
      { numRuns: 1500 },
    );
  });

  it('finds no worse path with one more instance or more capacity', () => {
    fc.assert(
      fc.property(arbitraryChaining(), fc.nat(9), ({ network, request }, which) => {
        const before = run(network, request);
        fc.pre(before.status === 'qualifies' && network.instances.length > 0);
        const extra = { ...network.instances[which % network.instances.length]!, id: 'twin', node: 0 };
        const grown = {
          ...network,
          nodes: network.nodes.map((it) => ({ ...it, capacity_free: it.capacity_free + 2 })),
        };
        for (const more of [{ ...network, instances: [...network.instances, extra] }, grown]) {
          const after = run(more, request);
          const cost = (n: ChainNetwork, path: readonly number[]) => figuresOf(n, request, path).cost;
          expect(after.status).toBe('qualifies');
          expect(cost(more, after.path)).toBeLessThanOrEqual(cost(network, before.path));
          if (cost(more, after.path) === cost(network, before.path))
            expect(after.latency_us!).toBeLessThanOrEqual(before.latency_us!);
        }
      }),
      { numRuns: 800 },
    );
  });

  it('depends on the seed alone, whatever nodes and instances are called', () => {
    fc.assert(
      fc.property(arbitraryChaining(), fc.constantFrom(...CHAIN_STRATEGIES), ({ network, request }, strategy) => {
        const renamed = {
          ...network,
          nodes: network.nodes.map((it, v) => ({ ...it, id: `x${9 - v}` })),
          instances: network.instances.map((it, i) => ({ ...it, id: `y${9 - i}` })),
        };
        const [a, b] = [network, renamed].map((it) => run(it, request, { strategy, seed: 7 }));
        expect(b!.path).toEqual(a!.path);
      }),
      { numRuns: 400 },
    );
  });
});

function inUnits<T extends ChainInstance>(it: T, unit: number): T {
  return {
    ...it,
    throughput_free_bps: it.throughput_free_bps * unit,
    capacity_per_chain: it.capacity_per_chain * unit,
  };
}

/** Whether what is said of a conflict says that the set is none: a part of it, or, where it is a minimum, any with fewer parts. */
function isSmaller(set: readonly ConflictPart[], { parts, minimum }: ChainConflict): boolean {
  return set.length < parts.length && (minimum || set.every((part) => parts.includes(part)));
}

function subsets<T>(values: readonly T[]): T[][] {
  return Array.from({ length: 2 ** values.length }, (_, code) => values.filter((_value, i) => code & (1 << i)));
}

describe('serveInTurn', () => {
  const network = mixedNetwork(1);
  const arrivals = (count: number, lasting: number): Arrival[] => {
    const random = seededRandom(5);
    return Array.from({ length: count }, (_, i) => ({
      request: randomSla(random, network),
      ended: i >= lasting ? [i - lasting] : [],
    }));
  };

  it('takes capacity from flows that last and gives it back, so that nothing is lost', () => {
    const prepared = prepareNetwork({ ...network, options: [] });
    const flows = arrivals(300, 30);
    const last: Arrival = { request: flows[0]!.request, ended: Array.from({ length: 300 }, (_, i) => i) };
    const { network: after, answers, qualified } = serveInTurn(prepared, [...flows, last], HYPER);
    const held = answers.at(-1)!.path;
    expect(qualified).toBeGreaterThan(100);
    after.free_bps.forEach((free, c) => {
      const mine = held.filter((it) => it === c).length * last.request.throughput_bps;
      expect(free + mine).toBeCloseTo(prepared.free_bps[c]!, -1);
    });
    after.nodeFree.forEach((free, v) => {
      const mine = held
        .filter((c) => after.node[c] === v)
        .reduce((sum, c) => sum + after.perChain[c]! + after.perBps[c]! * last.request.throughput_bps, 0);
      expect(free + mine).toBeCloseTo(prepared.nodeFree[v]!, -1);
    });
    expect([...prepared.nodeFree]).toEqual(network.nodes.map((it) => it.capacity_free));
  });

  it('keeps more SLAs than every strawman, and deploys an option once only', () => {
    const flows = arrivals(400, 25);
    const prepared = prepareNetwork(network);
    const served = serveInTurn(prepared, flows, HYPER);
    for (const strategy of ['function-only', 'stratos', 'random'] as const)
      expect(served.qualified).toBeGreaterThan(serveInTurn(prepared, flows, { strategy, seed: 1 }).qualified);
    const deployed = served.answers.filter((it) => it.status === 'qualifies').flatMap((it) => it.deployments);
    expect(new Set(deployed).size).toBe(deployed.length);
    expect(served.deployments).toBe(deployed.length);
    expect(() => serveInTurn(prepared, [{ request: flows[0]!.request, ended: [0] }], HYPER)).toThrow(BadProblem);
  });
});
