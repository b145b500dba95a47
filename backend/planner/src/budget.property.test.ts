import { expect, it } from 'vitest';
import { packOffline } from './accelerator/pack.js';
import { type Budget, OutOfTime } from './budget.js';
import { chain } from './chaining/chain.js';
import { prepareNetwork } from './chaining/network.js';
import { checkTogether } from './check/check-together.js';
import { lowerFabric } from './lower/switch/lower-fabric.js';
import { buildSpg } from './parallel/construction/build.js';
import { provision } from './parallel/provisioning/provision.js';
import { boundPlacement } from './placement/bound.js';
import { place } from './placement/place.js';
import { makePlan } from './plan/make-plan.js';
import { seededRandom } from './random.js';
import { planSchedule } from './schedule/plan-schedule.js';
import { mixedDemands } from './testing/accelerators.js';
import { mixedNetwork } from './testing/chaining.js';
import { ofOwnPort } from './testing/chains.js';
import { Clock, moments } from './testing/clock.js';
import { CATALOGUE } from './testing/descriptors.js';
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
const FABRIC = makePlan({
  id: 'plan',
  created_ms: 0,
  chains: CHAINS,
  descriptors: CATALOGUE,
  infrastructure: RACK,
  base: null,
  budget: { steps: 0 },
}).fabric;

/**
 * Every function that takes a budget, but for `makePlan` (plan/time-limit.property.test.ts) and
 * `validateChain` (check/validate-budget.property.test.ts), and what holds of its answer.
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
      expect(
        boundPlacement(problem, cut, { exact: budget, spectral: { ...budget, steps: 40 } }).lower_bound_bps,
      ).toBeLessThanOrEqual(cut);
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
    expect(lowerFabric(RACK, new Map(), FABRIC.rules, budget).conflicts).toEqual([]);
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

function within(count: number) {
  return ({ from, to }: { readonly from: number; readonly to: number }) => from < count && to < count;
}
