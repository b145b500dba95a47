import { beforeAll, describe, expect, it } from 'vitest';
import { certifyPacking } from './accelerator/certify.js';
import { packOffline } from './accelerator/pack.js';
import { type Budget, OutOfTime, type TimedBudget } from './budget.js';
import { chain } from './chaining/chain.js';
import { prepareNetwork } from './chaining/network.js';
import { serveInTurn } from './chaining/serve.js';
import { checkTogether } from './check/check-together.js';
import { lowerFabric } from './lower/switch/lower-fabric.js';
import { buildSpg } from './parallel/construction/build.js';
import { certifySpg } from './parallel/construction/certify.js';
import { certifyProvisioning } from './parallel/provisioning/certify.js';
import { provision } from './parallel/provisioning/provision.js';
import { boundPlacement } from './placement/bound.js';
import { place } from './placement/place.js';
import { certifyPlan } from './plan/certify-plan.js';
import { makePlan } from './plan/make-plan.js';
import { seededRandom } from './random.js';
import { certifySchedule } from './schedule/certify.js';
import { compareSchedules, planSchedule } from './schedule/plan-schedule.js';
import { NOT_CALIBRATED } from './slo/overhead.js';
import { predictRunning } from './slo/running.js';
import type { Solver } from './solver/linear-model.js';
import { mixedDemands } from './testing/accelerators.js';
import { mixedNetwork } from './testing/chaining.js';
import { ofOwnPort } from './testing/chains.js';
import { Clock, moments, timedBy, unhurried } from './testing/clock.js';
import { CATALOGUE } from './testing/descriptors.js';
import { testSolver } from './testing/highs.js';
import { randomIGraph } from './testing/igraphs.js';
import { rack } from './testing/infrastructure.js';
import { dependent, isValid } from './testing/parallel.js';
import { binsOf, overbooked } from './testing/placements.js';
import { randomProvisioning, violations } from './testing/provisioning.js';
import { binaryTree } from './testing/schedules.js';

const SEED = { seed: 1 } as const;
const CHAINS = Array.from({ length: 40 }, (_, i) => ofOwnPort(i, 1e8));
const RACK = rack({ servers: 4, cores: 8 });
const PLACEMENT = randomIGraph(120, 1);
const DEMANDS = mixedDemands('quarter-to-half', 30, 1);
const DEVICES_MISSING = { ...DEMANDS, types: DEMANDS.types.map((type) => ({ ...type, count: 1 })) };
const NETWORK = prepareNetwork(mixedNetwork(3, 100));
const STAGES = 40;
const request = (latency_us: number) => ({
  functions: Array.from({ length: STAGES }, (_, k) => k % 4),
  ingress: 0,
  egress: 1,
  throughput_bps: 5e8,
  latency_us,
});
const SPG = dependent(
  Array.from({ length: 18 }, (_, i) => 1 + (i % 5)),
  Array.from({ length: 17 }, (_, i): [number, number] => [i, Math.min(17, i + 3)]).filter(([a, b]) => a < b),
);
const PROVISIONING = randomProvisioning(8, 5, seededRandom(2));
const BOUNDED = CHAINS.map((chain) => ({
  ...chain,
  definition: { ...chain.definition, slos: [{ id: 'fast', kind: 'latency', percentile: 99, max_us: 60 } as const] },
}));
const PLAN = makePlan({
  id: 'plan',
  created_ms: 0,
  chains: BOUNDED,
  descriptors: CATALOGUE,
  infrastructure: RACK,
  base: null,
  budget: { steps: 0 },
});

/**
 * Every function that takes a budget, but for `makePlan` (plan/time-limit.property.test.ts), `validateChain`
 * (check/validate-budget.property.test.ts) and those that ask a solver (below), and what holds of its answer.
 */
const FUNCTIONS: Readonly<Record<string, (budget: Budget) => void>> = {
  place: (budget) => {
    const pinned = PLACEMENT.items.map(() => null);
    const found = place(PLACEMENT, { strategy: 'e2', ...SEED, budget, pinned });
    expect(found.feasible && overbooked(PLACEMENT, binsOf(found))).toEqual([]);
  },
  'place, too much': (budget) => {
    const items = PLACEMENT.items.map((item) => ({ ...item, memory_bytes: 7e8 }));
    const bins = PLACEMENT.bins.map((bin) => ({ ...bin, memory_bytes: 1e9 }));
    const few = { ...PLACEMENT, items: items.slice(0, bins.length + 1), bins, flows: [] };
    const found = place(few, { strategy: 'e2', ...SEED, budget, pinned: few.items.map(() => null) });
    expect(found).toMatchObject({ feasible: false });
  },
  boundPlacement: (budget) => {
    const few = { ...PLACEMENT, items: PLACEMENT.items.slice(0, 12), flows: PLACEMENT.flows.filter(within(12)) };
    const cut = few.flows.reduce((sum, { rate_bps }) => sum + rate_bps, 0);
    for (const problem of [few, PLACEMENT])
      expect(boundPlacement(problem, cut, { ...budget, spectral_steps: 40 }).lower_bound_bps).toBeLessThanOrEqual(cut);
  },
  packOffline: (budget) => {
    const found = packOffline(DEMANDS, { strategy: 'bin-completion', ...SEED, budget });
    expect(found.devices.flatMap(({ demands }) => demands)).toHaveLength(found.status === 'packed' ? 30 : 0);
  },
  'packOffline, too much': (budget) => {
    const { status } = packOffline(DEVICES_MISSING, { strategy: 'bin-completion', ...SEED, budget });
    expect(['impossible', 'unknown']).toContain(status);
  },
  chain: (budget) => {
    const { status, path } = chain(NETWORK, request(1e6), { strategy: 'hyper', ...SEED, budget });
    expect(path).toHaveLength(status === 'qualifies' ? STAGES : 0);
  },
  'chain, too far': (budget) => {
    const { status } = chain(NETWORK, request(10), { strategy: 'hyper', ...SEED, budget });
    expect(['impossible', 'unknown']).toContain(status);
  },
  serveInTurn: (budget) => {
    const arrivals = Array.from({ length: 20 }, () => ({ request: request(1e6), ended: [] }));
    const { answers } = serveInTurn(NETWORK, arrivals, { strategy: 'hyper', ...SEED, budget });
    expect(answers).toHaveLength(20);
  },
  predictRunning: (budget) => {
    const about = { descriptors: CATALOGUE, infrastructure: RACK, calibration: NOT_CALIBRATED };
    expect(predictRunning({ plan: PLAN, ...about }, budget)).toHaveLength(CHAINS.length);
  },
  compareSchedules: (budget) => {
    const found = compareSchedules(binaryTree(4, 1), ['alpine', 'manual'], { mode: 'free', budget });
    expect(found.map(({ feasible }) => feasible)).toEqual([true, true]);
  },
  buildSpg: (budget) => {
    for (const strategy of ['orrery', 'genetic'] as const)
      expect(isValid(SPG, buildSpg(SPG, { strategy, ...SEED, budget: { ...budget, steps: 100 } }).series)).toBe(true);
  },
  provision: (budget) => {
    const found = provision(PROVISIONING, { strategy: 'annealing', ...SEED, budget: { ...budget, steps: 2000 } });
    if (found.feasible) expect(violations(PROVISIONING, found)).toEqual([]);
  },
  planSchedule: (budget) => {
    const found = planSchedule(binaryTree(5, 1), { strategy: 'alpine', mode: 'free', budget });
    expect(found.feasible && found.tasks.length).toBeGreaterThan(0);
  },
  checkTogether: (budget) => {
    expect(checkTogether(CHAINS, CATALOGUE, budget)).toEqual([]);
  },
  lowerFabric: (budget) => {
    expect(lowerFabric(RACK, new Map(), PLAN.fabric.rules, budget).conflicts).toEqual([]);
  },
};

/** Questions after the time is over: as many as there are searches inside one another. */
const MOST_AFTERWARDS = 12;

it.each(Object.entries(FUNCTIONS))(
  '%s has a sound answer or none, whenever the time is over, and then ends',
  (_, run) => {
    const whole = new Clock();
    run({ steps: 20_000, expired: whole.expired });
    expect(whole.asked).toBeGreaterThan(0);
    for (const over of moments(whole.asked + 1)) {
      const clock = new Clock(over);
      try {
        run({ steps: 20_000, expired: clock.expired });
      } catch (error) {
        expect(error).toBeInstanceOf(OutOfTime);
      }
      expect(clock.askedInVain).toBeLessThan(MOST_AFTERWARDS);
    }
  },
);

const TREE = binaryTree(3, 1);
const SCHEDULE = planSchedule(TREE, { strategy: 'semi-manual', mode: 'free', budget: { steps: 100 } });
const FEW_DEMANDS = mixedDemands('quarter-to-half', 30, 1);
const PACKED = packOffline(FEW_DEMANDS, { strategy: 'first-fit', ...SEED, budget: { steps: 100 } });
const SHORT_SPG = dependent(
  [3, 1, 4, 1, 5],
  [
    [0, 2],
    [1, 3],
    [1, 4],
  ],
);
const BUILT = buildSpg(SHORT_SPG, { strategy: 'first-fit', ...SEED, budget: { steps: 100 } });
const FEW_NFS = randomProvisioning(4, 3, seededRandom(3));
const PROVISIONED = provision(FEW_NFS, { strategy: 'greedy', ...SEED, budget: { steps: 100 } });

/** Every function that hands a solver what is left of its time, and what holds of its answer. */
const CERTIFICATES: Readonly<Record<string, (solver: Solver, budget: TimedBudget) => Promise<void>>> = {
  certifyPlan: async (solver, budget) => {
    const input = { plan: PLAN, descriptors: CATALOGUE, infrastructure: RACK };
    const proven = (await certifyPlan(input, solver, budget))!;
    proven.forEach(({ part, subject, value, bound }, i) => {
      const known = PLAN.quality[i]!;
      expect([part, subject, value]).toEqual([known.part, known.subject, known.value]);
      expect(bound).toBeGreaterThanOrEqual(known.bound);
      expect(bound).toBeLessThanOrEqual(value * (1 + 1e-9));
    });
  },
  certifySchedule: async (solver, budget) => {
    const { lower_bound } = await certifySchedule(TREE, SCHEDULE, solver, budget);
    expect(lower_bound).toBeLessThanOrEqual(SCHEDULE.feasible ? SCHEDULE.bound.tasks : 0);
  },
  certifySpg: async (solver, budget) => {
    expect((await certifySpg(SHORT_SPG, BUILT, solver, budget)).contradictions).toEqual([]);
  },
  certifyProvisioning: async (solver, budget) => {
    const found = await certifyProvisioning(FEW_NFS, PROVISIONED, solver, budget);
    expect(found.feasible && violations(FEW_NFS, found)).toEqual([]);
  },
  certifyPacking: async (solver, budget) => {
    const found = await certifyPacking(FEW_DEMANDS, PACKED, solver, budget);
    expect(found.lower_bound).toBeLessThanOrEqual(found.cost);
    expect(found.cost).toBeLessThanOrEqual(PACKED.cost);
  },
};

describe('with a solver', () => {
  let solve: Solver;
  beforeAll(async () => {
    solve = await testSolver();
  });

  it.each(Object.entries(CERTIFICATES))(
    '%s has a sound answer or none, whenever the time is over, asks no solver after that, and then ends',
    async (_, run) => {
      const whole = new Clock();
      await run(solve, timedBy(whole, 20_000));
      expect(whole.asked).toBeGreaterThan(1);
      for (const over of moments(whole.asked + 1)) {
        const clock = new Clock(over);
        const solver: Solver = (model, limits) => {
          expect(clock.saidLate).toBe(false);
          expect(limits.time_limit_s).toBeGreaterThan(0);
          return solve(model, limits);
        };
        try {
          await run(solver, timedBy(clock, 20_000));
        } catch (error) {
          expect(error).toBeInstanceOf(OutOfTime);
        }
        expect(clock.askedInVain).toBeLessThan(MOST_AFTERWARDS);
      }
    },
  );

  it('certifyPlan looks at its clock for every chain that it rebuilds', async () => {
    const input = { plan: PLAN, descriptors: CATALOGUE, infrastructure: RACK };
    const unused: Solver = () => expect.unreachable('the plan is rebuilt before a solver is asked');
    const clock = new Clock(3 * CHAINS.length);
    expect(await certifyPlan(input, unused, timedBy(clock, 20_000))).toEqual(PLAN.quality);
    expect(clock.saidLate).toBe(true);
  });

  it('certifySchedule looks at its clock while it tries ways to cut', async () => {
    const questions = async (steps: number) => {
      const clock = new Clock();
      await certifySchedule(TREE, SCHEDULE, solve, timedBy(clock, steps));
      return clock.asked;
    };
    expect(await questions(20_000)).toBeGreaterThan(await questions(1));
  });

  it('a solver that finds nothing in the time that is left contradicts nothing', async () => {
    const values = new Float64Array(0);
    const nothing: Solver = async () => ({ status: 'unknown', objective: null, bound: null, values, duals: values });
    for (const [name, run] of Object.entries(CERTIFICATES)) {
      const answer = run(nothing, unhurried(0));
      if (name === 'certifySpg') await expect(answer).rejects.toThrow(OutOfTime);
      else await answer;
    }
  });
});

function within(count: number) {
  return ({ from, to }: { readonly from: number; readonly to: number }) => from < count && to < count;
}
