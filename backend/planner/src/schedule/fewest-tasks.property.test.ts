import { beforeAll, describe, expect, it } from 'vitest';
import type { Solver } from '../solver/linear-model.js';
import { unhurried } from '../testing/clock.js';
import { testSolver } from '../testing/highs.js';
import {
  binaryTree,
  fewestTasksByIntervals,
  fewestTasksBySolver,
  leafTargets,
  randomTree,
  treeProblem,
  withRatios,
} from '../testing/schedules.js';
import { certifySchedule } from './certify.js';
import { constructServices } from './cpu-time.js';
import { obstacle } from './group-factors.js';
import { settingOf } from './layout.js';
import { planSchedule, scheduleOf } from './plan-schedule.js';
import type { Mode, Schedule, ScheduleProblem } from './problem.js';
import { countOf, headsOf } from './region.js';
import { unfold } from './tree.js';

let solver: Solver;
beforeAll(async () => {
  solver = await testSolver();
});

const plan = (problem: ScheduleProblem, mode: Mode = 'free') =>
  planSchedule(problem, { strategy: 'alpine', mode, budget: { steps: 1e6 } });

function feasible(schedule: Schedule): Extract<Schedule, { feasible: true }> {
  if (!schedule.feasible) throw new Error('the free mode always has an answer');
  return schedule;
}

function constructed(problem: ScheduleProblem): number {
  return settingOf(problem, unfold(problem)).regions.reduce(
    (sum, region) => sum + countOf(headsOf(region, constructServices(region, 'free'))),
    0,
  );
}

describe('the fewest tasks of the free mode', () => {
  it('are those of an independent search over every cut, and the ratios hold exactly', () => {
    let beaten = 0;
    let generic = 0;
    for (let seed = 0; seed < 2000; seed++) {
      const whole = seed % 2 === 0;
      const tree = randomTree(seed, 2 + (seed % 8), whole);
      const problem = withRatios(tree, 'cpu-time');
      const schedule = feasible(plan(problem));
      expect(schedule.bound.tasks, `seed ${seed}`).toBe(fewestTasksByIntervals(tree, leafTargets(problem)));
      expect(schedule.bound).toMatchObject({ proven_optimal: true, gap: 0, method: 'enumeration' });
      expect(schedule.prediction.slo_error).toBeLessThan(1e-6);
      expect(schedule.tasks.length).toBeLessThanOrEqual(problem.classes.length);
      const rule = constructed(problem);
      expect(rule).toBeLessThanOrEqual(problem.classes.length);
      if (rule > schedule.bound.tasks) beaten++;
      if (!whole && schedule.bound.tasks === problem.classes.length) generic++;
    }
    // Small whole numbers coincide, and then fewer tasks do than the rule finds; other numbers never do.
    expect(beaten).toBeGreaterThan(30);
    expect(generic).toBe(1000);
  });

  it('are those of a solver on the linear form', async () => {
    for (let seed = 0; seed < 40; seed++) {
      const tree = randomTree(seed, 4 + (seed % 6), seed % 3 > 0);
      const problem = withRatios(tree, 'cpu-time');
      const schedule = feasible(plan(problem));
      expect(schedule.bound.tasks, `seed ${seed}`).toBe(await fewestTasksBySolver(problem, tree, 'free', solver, 1e-4));
    }
  });
});

describe('of as many tasks, those that carry most', () => {
  const mean = ({ prediction: { classes } }: Extract<Schedule, { feasible: true }>) =>
    Math.exp(classes.reduce((sum, { throughput_pps }) => sum + Math.log(throughput_pps), 0) / classes.length);

  it('let out at least as much of every class, in the geometric mean, as the rule does', () => {
    let more = 0;
    for (let seed = 0; seed < 300; seed++) {
      const problem = withRatios(randomTree(seed, 3 + (seed % 8), false), 'cpu-time');
      const schedule = feasible(plan(problem));
      const setting = settingOf(problem, unfold(problem));
      const [region] = setting.regions;
      const service = constructServices(region!, 'free');
      const layout = { ...setting, service, heads: headsOf(region!, service), bound: schedule.bound };
      const rule = feasible(scheduleOf(problem, layout, { strategy: 'alpine', mode: 'free' }));
      expect(rule.tasks.length).toBe(schedule.bound.tasks);
      const gain = mean(schedule) / mean(rule);
      expect(gain).toBeGreaterThan(1 - 1e-9);
      if (gain > 1.001) more++;
    }
    expect(more).toBeGreaterThan(10);
  });

  it('do not starve a class whose share the modules before it use up, for the sake of the others', () => {
    // The firewall of Alpine's Table 5.3 as a chain of NFs, each with an output along every edge that leaves it.
    const [nf, output] = [460_000, 2];
    const cycles = [output, nf, output, nf, output, output, nf, output, output, nf, output];
    const problem = treeProblem(
      [-1, 0, 1, 2, 3, 1, 5, 6, 1, 8, 9],
      cycles,
      [833],
      [
        { kind: 'cpu-time', a: 1, b: 0, ratio: 1 / 2 },
        { kind: 'cpu-time', a: 2, b: 0, ratio: 3 / 2 },
      ],
      { workers: { count: 1, cycles_per_second: 1e9, sharing: 'replicate' } },
    );
    const { bound, prediction } = feasible(plan(problem));
    expect(bound).toMatchObject({ tasks: 3, proven_optimal: true });
    expect(prediction.slo_error).toBeLessThan(1e-9);
    // The first NF serves all three alike, at what the class with the smallest share can pay for.
    for (const { throughput_pps } of prediction.classes)
      expect(throughput_pps / (1e9 / 6 / (2 * nf))).toBeCloseTo(1, 3);
  });
});

describe('the constrained mode', () => {
  it('is feasible where a solver finds it so, with as few tasks', async () => {
    const seen = { feasible: 0, infeasible: 0 };
    for (let seed = 0; seed < 80; seed++) {
      const tree = randomTree(seed, 3 + (seed % 6), seed % 2 === 0);
      const near = { ...tree, ratios: tree.ratios.map((it) => 1 + it / 6) };
      const problem = withRatios(near, 'cpu-time');
      const schedule = plan(problem, 'constrained');
      const fewest = await fewestTasksBySolver(problem, near, 'constrained', solver, 1e-5);
      expect(schedule.feasible ? schedule.bound.tasks : null, `seed ${seed}`).toBe(fewest);
      if (schedule.feasible) {
        seen.feasible++;
        expect(schedule.prediction.slo_error).toBeLessThan(1e-6);
        expect(schedule.prediction.useful_slo_error).toBeLessThan(1e-6);
        expect(schedule.prediction.idle_cycles_per_second).toBeLessThan(1e-3);
      } else seen.infeasible++;
    }
    expect(seen.feasible).toBeGreaterThan(15);
    expect(seen.infeasible).toBeGreaterThan(15);
  });

  it('is infeasible for nearly all ratios that ignore what classes share, as a solver confirms', async () => {
    let infeasible = 0;
    for (let seed = 0; seed < 11; seed++) {
      const problem = withRatios(randomTree(seed + 50, 8, false), 'cpu-time');
      const schedule = plan(problem, 'constrained');
      const certificate = await certifySchedule(problem, schedule, solver, unhurried(200_000, 5));
      expect(certificate.attainable).toBe(schedule.feasible);
      if (!schedule.feasible) infeasible++;
    }
    expect(infeasible).toBeGreaterThanOrEqual(8);
  });

  it('names classes of which none can be left out, and what they need against what there is', () => {
    let several = 0;
    for (let seed = 0; seed < 1500; seed++) {
      const tree = randomTree(seed, 4 + (seed % 9), seed % 2 === 0);
      const problem = withRatios({ ...tree, ratios: tree.ratios.map((it) => 1.5 + it) }, 'cpu-time');
      const schedule = plan(problem, 'constrained');
      if (schedule.feasible) continue;
      const [conflict] = schedule.conflicts;
      expect(conflict!.needed).toBeGreaterThanOrEqual(conflict!.available);
      expect(conflict!.available).toBeGreaterThanOrEqual(0);
      expect(conflict!.modules.length).toBeGreaterThan(0);
      const [region] = settingOf(problem, unfold(problem)).regions;
      const only = (classes: readonly number[]) =>
        region!.classes.reduce((bits, c, k) => {
          if (classes.includes(c)) bits[k] = 1;
          return bits;
        }, new Uint8Array(region!.classes.length));
      expect(obstacle(region!, only(conflict!.classes))).toBeGreaterThan(0);
      for (const c of conflict!.classes)
        expect(obstacle(region!, only(conflict!.classes.filter((it) => it !== c))), `seed ${seed}`).toBe(0);
      if (conflict!.classes.length > 2) several++;
    }
    expect(several).toBeGreaterThan(3);
  });
});

describe('larger trees', () => {
  it('take at most as many tasks as classes, hold every ratio, and carry a sound bound', () => {
    for (let seed = 0; seed < 150; seed++) {
      const problem = withRatios(randomTree(seed, 19 + (seed % 40), seed % 2 === 0), 'cpu-time');
      const schedule = feasible(plan(problem));
      expect(schedule.bound.tasks).toBeLessThanOrEqual(problem.classes.length);
      expect(schedule.bound.lower_bound).toBeLessThanOrEqual(schedule.bound.tasks);
      expect(schedule.bound.gap).toBe(schedule.bound.tasks - schedule.bound.lower_bound);
      expect(schedule.prediction.slo_error).toBeLessThan(1e-6);
    }
  });

  it('carry a bound that no schedule goes below, and a certificate that closes the gap', async () => {
    for (const seed of [0, 2, 3]) {
      const tree = randomTree(seed, 20, true);
      const problem = withRatios(tree, 'cpu-time');
      const schedule = feasible(plan(problem));
      const fewest = (await fewestTasksBySolver(problem, tree, 'free', solver, 1e-4))!;
      expect(schedule.bound.method).toBe('constructive');
      expect(schedule.bound.lower_bound, `seed ${seed}`).toBeLessThanOrEqual(fewest);
      expect(schedule.bound.tasks).toBeGreaterThanOrEqual(fewest);
      const certificate = await certifySchedule(problem, schedule, solver, unhurried(200_000, 20));
      expect(certificate).toMatchObject({ attainable: true, lower_bound: fewest, gap: 0, proven_optimal: true });
      expect(feasible(certificate.better ?? schedule).bound.tasks).toBe(fewest);
    }
  });

  it('are improved by the solver where whole numbers coincide, and the improvement holds the ratios', async () => {
    let better = 0;
    for (let seed = 0; seed < 8; seed++) {
      const problem = withRatios(randomTree(seed, 20, true), 'cpu-time');
      const schedule = plan(problem);
      const certificate = await certifySchedule(problem, schedule, solver, unhurried(200_000, 3));
      if (!schedule.feasible) throw new Error('the free mode always has an answer');
      expect(schedule.bound.lower_bound).toBeLessThanOrEqual(certificate.lower_bound!);
      if (certificate.better === null || !certificate.better.feasible) continue;
      better++;
      expect(certificate.better.bound.tasks).toBeLessThan(schedule.bound.tasks);
      expect(certificate.better.tasks.length).toBe(certificate.better.bound.tasks);
      expect(certificate.better.prediction.slo_error).toBeLessThan(1e-6);
    }
    expect(better).toBeGreaterThan(0);
  });

  it('plans 1,023 modules in 512 classes with 512 tasks (Alpine Fig. 5.10)', () => {
    const schedule = feasible(plan(binaryTree(9, 1)));
    expect(schedule.bound).toMatchObject({ tasks: 512, method: 'constructive' });
    expect(schedule.bound.lower_bound).toBeGreaterThan(369);
    expect(schedule.prediction.slo_error).toBeLessThan(1e-9);
  });
});
