import { beforeAll, describe, expect, it } from 'vitest';
import type { Solver } from '../solver/linear-model.js';
import { unhurried } from '../testing/clock.js';
import { testSolver } from '../testing/highs.js';
import { fewestTasksForSlos, randomTree, treeProblem, withSomeRatios } from '../testing/schedules.js';
import { certifySchedule } from './certify.js';
import { planSchedule } from './plan-schedule.js';
import type { Mode, ScheduleProblem } from './problem.js';

const CASES = 120;

let solver: Solver;
beforeAll(async () => {
  solver = await testSolver();
});

const plan = (problem: ScheduleProblem, mode: Mode) =>
  planSchedule(problem, { strategy: 'alpine', mode, budget: { steps: 1e5 } });

/** Three classes behind one module; an objective ties the first two. */
const branches = (lastCycles: number) =>
  treeProblem([-1, 0, 0, 0], [1000, 1000, 1000, lastCycles], [1e6], [{ kind: 'cpu-time', a: 0, b: 1, ratio: 1.5 }]);

describe('a class that no ratio names', () => {
  it('refuses nothing, however cheap it is', () => {
    for (const cycles of [10, 1000, 1e5]) {
      const schedule = plan(branches(cycles), 'constrained');
      expect(schedule, `${cycles} cycles`).toMatchObject({ feasible: true, bound: { tasks: 2, proven_optimal: true } });
    }
  });

  it('takes part in no conflict', () => {
    const problem = branches(10);
    const schedule = plan({ ...problem, slos: [{ kind: 'cpu-time', a: 0, b: 1, ratio: 2.5 }] }, 'constrained');
    expect(schedule).toMatchObject({ feasible: false, conflicts: [{ classes: [0, 1] }] });
  });

  it.each(['free', 'constrained'] as const)(
    'costs no task, nor does the scale of one group beside another: %s mode, as a solver finds from the objectives alone',
    async (mode) => {
      const seen = { fewer: 0, refused: 0 };
      for (let seed = 0; seed < CASES; seed++) {
        const whole = seed % 2 === 0;
        const tree = randomTree(seed, 3 + (seed % 7), whole);
        const problem = withSomeRatios(tree, seed, whole, 'cpu-time');
        const schedule = plan(problem, mode);
        const fewest = await fewestTasksForSlos(problem, tree, mode, solver, 1e-5);
        expect(schedule.feasible ? schedule.bound.tasks : null, `seed ${seed}`).toBe(fewest);
        if (!schedule.feasible) {
          seen.refused++;
          continue;
        }
        expect(schedule.bound.proven_optimal).toBe(true);
        for (const { predicted, wanted } of schedule.prediction.slos)
          if (predicted !== null) expect(Math.abs(predicted / wanted - 1), `seed ${seed}`).toBeLessThan(1e-6);
        expect(schedule.prediction.slo_error).toBeLessThan(1e-6);
        for (const { throughput_pps } of schedule.prediction.classes) expect(throughput_pps).toBeGreaterThan(0);
        if (schedule.bound.tasks < problem.classes.length) seen.fewer++;
      }
      expect(seen.fewer).toBeGreaterThan(CASES / 4);
      if (mode === 'constrained') expect(seen.refused).toBeGreaterThan(3);
    },
  );

  it('costs no task where packets are counted either', async () => {
    for (let seed = 0; seed < CASES / 2; seed++) {
      const tree = randomTree(seed, 3 + (seed % 7), true);
      const problem = withSomeRatios(tree, seed, true, 'throughput');
      const schedule = plan(problem, 'constrained');
      if (!schedule.feasible) throw new Error('ratios of packets can always be had');
      const fewest = (await fewestTasksForSlos(problem, tree, 'constrained', solver, 1e-5))!;
      expect(schedule.bound.lower_bound, `seed ${seed}`).toBeLessThanOrEqual(fewest);
      expect(schedule.bound.tasks, `seed ${seed}`).toBeGreaterThanOrEqual(fewest);
      if (schedule.bound.proven_optimal) expect(schedule.bound.tasks).toBe(fewest);
    }
  });

  it('is left out of the certificate', async () => {
    for (let seed = 0; seed < 10; seed++) {
      const tree = randomTree(seed, 20, true);
      const problem = withSomeRatios(tree, seed, true, 'cpu-time');
      const schedule = plan(problem, 'constrained');
      const certificate = await certifySchedule(problem, schedule, solver, unhurried(200_000, 1));
      expect(certificate.attainable === false).toBe(!schedule.feasible);
    }
  });
});

describe('graphs of up to 18 modules', () => {
  it('get the fewest tasks there are, proven, where the rule takes more', () => {
    let tasks = 0;
    for (let seed = 0; seed < 28; seed++) {
      const problem = withSomeRatios(randomTree(seed, 13 + (seed % 6), true), seed, true, 'cpu-time');
      const schedule = plan(problem, 'free');
      if (!schedule.feasible) throw new Error('the free mode always has an answer');
      expect(schedule.bound, `seed ${seed}`).toMatchObject({ proven_optimal: true, method: 'enumeration' });
      tasks += schedule.bound.tasks;
    }
    expect(tasks).toBeLessThan(28 * 5);
  });
});
