import { nfInstances, Plan, PlanOptions } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { OutOfTime } from '../budget.js';
import { Memo } from '../memo.js';
import { ofOwnPort } from '../testing/chains.js';
import { Clock, moments } from '../testing/clock.js';
import { CATALOGUE } from '../testing/descriptors.js';
import { rack } from '../testing/infrastructure.js';
import { checkGraph } from '../testing/instance-graph.js';
import { ONE_OF_EACH } from '../testing/one-of-each.js';
import type { PlanInput } from './input.js';
import { makePlan } from './make-plan.js';

const BOUNDED = { id: 'fast', kind: 'latency', percentile: 99, max_us: 60 } as const;
const many = (count: number) =>
  Array.from({ length: count }, (_, i) => {
    const chain = ofOwnPort(i, 1e9);
    return { ...chain, definition: { ...chain.definition, slos: [BOUNDED] } };
  });
const MANY: PlanInput = {
  id: 'plan',
  created_ms: 0,
  chains: many(12),
  descriptors: CATALOGUE,
  infrastructure: rack({ servers: 6, cores: 4 }),
  base: null,
  budget: { steps: 20 },
};
const running = makePlan(ONE_OF_EACH);
const INPUTS: Readonly<Record<string, PlanInput>> = {
  'a first plan of one chain of each kind': ONE_OF_EACH,
  'a change of what runs': { ...ONE_OF_EACH, chains: ONE_OF_EACH.chains.slice(1), base: running },
  'many chains that are too slow at first': MANY,
  'many chains that are too much': { ...MANY, infrastructure: rack({ servers: 1, cores: 2 }) },
  'a strategy that needs several packings': { ...MANY, options: PlanOptions.parse({ strategy: 'random' }) },
  'servers of several clocks': {
    ...MANY,
    infrastructure: {
      ...MANY.infrastructure,
      servers: MANY.infrastructure.servers.map((server, i) => ({ ...server, ghz: 1 + i / 4, cores: 1 })),
    },
  },
};

/** Counts the parts that are made. */
class CountingMemo extends Memo {
  made = 0;

  override get<T>(key: string, make: () => T, keep?: () => boolean): T {
    this.made++;
    return super.get(key, make, keep);
  }
}

/** A plan that can be deployed: everything that is placed is told to its server, and nothing else. */
function checkWhole(plan: Plan): void {
  expect(() => Plan.parse(plan)).not.toThrow();
  if (!plan.feasible) return;
  checkGraph(plan.graph);
  const told = Object.values(plan.nodes).flatMap(({ instances }) => instances.map(({ id }) => id));
  expect(told.sort()).toEqual(
    nfInstances(plan.graph)
      .map(({ id }) => id)
      .sort(),
  );
}

describe.each(Object.entries(INPUTS))('%s', (_, input) => {
  const whole = new Clock();
  const plan = makePlan({ ...input, memo: new Memo(10_000), budget: { ...input.budget, expired: whole.expired } });

  it('is planned whole or not at all, whenever the time is over, and then nothing more is done', () => {
    const seen = { whole: 0, none: 0 };
    for (const over of moments(whole.asked + 1)) {
      const clock = new Clock(over);
      const memo = new CountingMemo(10_000);
      let madeInTime = 0;
      const expired = () => {
        const over = clock.expired();
        if (!over) madeInTime = memo.made;
        return over;
      };
      try {
        const found = makePlan({ ...input, memo, budget: { ...input.budget, expired } });
        checkWhole(found);
        expect(found.feasible).toBe(plan.feasible);
        if (!clock.saidLate) expect(found).toEqual(plan);
        seen.whole++;
      } catch (error) {
        expect(error).toBeInstanceOf(OutOfTime);
        seen.none++;
      }
      expect(clock.askedInVain).toBeLessThan(MOST_AFTERWARDS);
      expect(memo.made - madeInTime).toBeLessThan(MOST_AFTERWARDS);
    }
    expect(Math.min(...Object.values(seen))).toBeGreaterThan(0);
  });

  it('is planned all the same, whenever it is late, but for what it can do without', () => {
    const clock = new Clock();
    makePlan({ ...input, budget: { ...input.budget, late: clock.expired } });
    for (const over of moments(clock.asked + 1)) {
      const late = new Clock(over);
      const found = makePlan({ ...input, budget: { ...input.budget, late: late.expired } });
      checkWhole(found);
      expect(found.feasible).toBe(plan.feasible);
      expect(found.slos.map(({ slo_id }) => slo_id)).toEqual(plan.slos.map(({ slo_id }) => slo_id));
      expect(found.classes).toHaveLength(plan.classes.length);
      if (!late.saidLate) expect(found).toEqual(plan);
    }
  });
});

/** Questions and parts after the time is over; each of some hundred chains would have more. */
const MOST_AFTERWARDS = 60;

describe('a plan of many chains', () => {
  const clockOf = (count: number, kind: 'expired' | 'late') => {
    const clock = new Clock();
    const infrastructure = rack({ servers: 12, cores: 8 });
    makePlan({ ...MANY, chains: many(count), infrastructure, budget: { steps: 20, [kind]: clock.expired } });
    return clock.asked;
  };

  it('asks the clock in every step of each chain', () => {
    const steps = 12;
    expect(clockOf(80, 'expired') - clockOf(40, 'expired')).toBeGreaterThan(40 * steps);
  });

  it('does nothing after the time is over, however many they are', () => {
    for (const over of moments(clockOf(60, 'expired'))) {
      const clock = new Clock(over);
      expect(() => {
        const infrastructure = rack({ servers: 12, cores: 8 });
        makePlan({ ...MANY, chains: many(60), infrastructure, budget: { steps: 20, expired: clock.expired } });
        throw new OutOfTime();
      }).toThrow(OutOfTime);
      expect(clock.askedInVain).toBeLessThan(MOST_AFTERWARDS);
    }
  });
});
