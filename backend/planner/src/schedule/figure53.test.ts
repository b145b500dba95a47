import { describe, expect, it } from 'vitest';
import { figure53 } from '../testing/schedules.js';
import { planSchedule } from './plan-schedule.js';

const BUDGET = { steps: 1e5 };

describe('Alpine Figure 5.3: A classifies for B and C, CPU time 3 : 1', () => {
  it('takes two tasks in the free mode, and B is asked for five times what A lets through', () => {
    const schedule = planSchedule(figure53(), { strategy: 'alpine', mode: 'free', budget: BUDGET });
    if (!schedule.feasible) throw new Error('must be feasible');
    expect(schedule.bound).toMatchObject({ tasks: 2, lower_bound: 2, proven_optimal: true, method: 'enumeration' });
    expect(schedule.tasks.map(({ modules }) => modules)).toEqual([[0, 2], [1]]);
    expect(schedule.tasks[1]!.service / schedule.tasks[0]!.service).toBeCloseTo(5, 9);
    expect(schedule.tasks[0]!.weight / schedule.tasks[1]!.weight).toBeCloseTo(3 / 5, 9);
    expect(schedule.prediction.slo_error).toBeCloseTo(0, 9);
  });

  it('meets 3 : 1 only by polling: half of all cycles do nothing, and useful cycles are 1 : 1', () => {
    const schedule = planSchedule(figure53(), { strategy: 'alpine', mode: 'free', budget: BUDGET });
    if (!schedule.feasible) throw new Error('must be feasible');
    const { prediction } = schedule;
    expect(prediction.idle_cycles_per_second).toBeCloseTo(500, 6);
    expect(prediction.tasks[1]).toMatchObject({ useful_cycles_per_second: 125, idle_cycles_per_second: 500 });
    const [one, two] = prediction.classes;
    expect(one!.useful_cycles_per_second).toBeCloseTo(two!.useful_cycles_per_second, 6);
    expect(prediction.useful_slo_error).toBeCloseTo(0.5, 9);
  });

  it('is flagged by the constrained mode, which can give 2 : 1 at most', () => {
    const constrained = (ratio: number) =>
      planSchedule(figure53(ratio), { strategy: 'alpine', mode: 'constrained', budget: BUDGET });
    expect(constrained(3)).toMatchObject({
      feasible: false,
      conflicts: [{ constraint: 'cpu-time', needed: 3, available: 2, classes: [0, 1], slos: [0], modules: [0] }],
    });
    const below = constrained(1.9);
    if (!below.feasible) throw new Error('must be feasible');
    expect(below.prediction.idle_cycles_per_second).toBeCloseTo(0, 9);
    expect(below.prediction.useful_slo_error).toBeCloseTo(0, 9);
  });

  it('polls on both of two workers, also on that with a single task: what one spends keeps its ratio to what the other does', () => {
    const problem = { ...figure53(), workers: { count: 2, cycles_per_second: 1e6, sharing: 'split' } as const };
    const schedule = planSchedule(problem, { strategy: 'alpine', mode: 'free', budget: BUDGET });
    if (!schedule.feasible) throw new Error('the free mode always has an answer');
    expect(schedule.tasks.map(({ workers }) => workers)).toEqual([[expect.any(Number)], [expect.any(Number)]]);
    for (const { root } of schedule.workers) {
      const below = root?.kind === 'rate-limit' ? root.child : root;
      expect(below).toMatchObject({ kind: 'weighted-fair', when_idle: 'poll', children: [{ node: { kind: 'task' } }] });
    }
  });
});
