import { describe, expect, it } from 'vitest';
import { figure53, treeProblem } from '../testing/schedules.js';
import { settingOf } from './layout.js';
import { compareSchedules, planSchedule, scheduleOf } from './plan-schedule.js';
import type { Schedule, ScheduleProblem } from './problem.js';
import { unfold } from './tree.js';

const OPTIONS = { strategy: 'alpine', mode: 'free', budget: { steps: 1e5 } } as const;

function feasible(schedule: Schedule): Extract<Schedule, { feasible: true }> {
  if (!schedule.feasible) throw new Error('must be feasible');
  return schedule;
}

/** Figure 5.3c with given weights of the tasks of A, B and C. */
function weighted(a: number, b: number, c: number) {
  const problem = figure53();
  const { tree, nodeLevel, targets } = settingOf(problem, unfold(problem));
  const bound = { tasks: 3, lower_bound: 3, gap: 0, proven_optimal: true, method: 'fixed', proof: 'given' } as const;
  const layout = {
    tree,
    nodeLevel,
    targets,
    bound,
    heads: Uint8Array.of(1, 1, 1),
    service: Float64Array.of(a / 2, b, c),
  };
  return scheduleOf(problem, layout, { strategy: 'semi-manual', mode: 'free' });
}

/** Listing 5.1: a firewall that sends UDP to a logger; Listing 5.2 puts the rest above it. */
function listing51(rates: readonly [number, number]): ScheduleProblem {
  const problem = treeProblem([-1, 0, 1, 1], [20, 60, 20, 100], rates, [{ kind: 'priority', above: 0, below: 1 }]);
  const names = ['inc', 'wm', 'out', 'sink'];
  return {
    ...problem,
    modules: problem.modules.map((it, i) => ({ ...it, id: names[i]! })),
    workers: { count: 1, cycles_per_second: 1e6, sharing: 'replicate' },
  };
}

describe('slips of the document', () => {
  it('weights 8 : 5 : 4 do not give 3 : 1 at equal costs, as Alpine 5.2.2 says, but 9 : 8', () => {
    const { tasks, prediction } = weighted(8, 5, 4);
    expect(tasks.map(({ weight }) => weight * 17)).toEqual([8, 5, 4].map((it) => expect.closeTo(it, 9)));
    expect(prediction.slos[0]!.predicted).toBeCloseTo(9 / 8, 9);
    expect(prediction.slos[0]!.met).toBe(false);
  });

  it('weights 1 : 4 : 1 do, with excess cycles on B', () => {
    const { prediction } = weighted(1, 4, 1);
    expect(prediction.slos[0]).toMatchObject({ met: true, predicted: expect.closeTo(3, 9) });
    expect(prediction.tasks[1]!.idle_cycles_per_second).toBeGreaterThan(prediction.tasks[2]!.idle_cycles_per_second);
    expect(prediction.throughput_pps).toBeLessThan(
      feasible(planSchedule(figure53(), OPTIONS)).prediction.throughput_pps,
    );
  });

  it('Algorithm 1 binds modules that head no task and so forbids Listing 5.3; tasks of the lower class alone are meant', () => {
    const schedule = feasible(planSchedule(listing51([1e3, 1e3]), OPTIONS));
    expect(schedule.tasks.map(({ modules, level }) => ({ modules, level }))).toEqual([
      { modules: [0, 1, 2], level: 0 },
      { modules: [3], level: 1 },
    ]);
    expect(schedule.workers[0]!.root).toEqual({
      kind: 'priority',
      children: [
        { level: 0, node: { kind: 'task', task: 0 } },
        { level: 1, node: { kind: 'task', task: 1 } },
      ],
    });
    expect(schedule.queues).toEqual([{ task: 1, from_module: 1, to_module: 3 }]);
  });

  it('throughput takes fewer tasks than classes where rates agree, not "exactly M" (Alpine 5.3.2)', () => {
    const problem = treeProblem(
      [-1, 0, 0, 0],
      [1, 1, 1, 1],
      [1e6],
      [
        { kind: 'throughput', a: 0, b: 1, ratio: 1 },
        { kind: 'throughput', a: 2, b: 1, ratio: 2 },
      ],
    );
    const schedule = feasible(planSchedule(problem, OPTIONS));
    expect(schedule.bound).toMatchObject({ tasks: 3, proven_optimal: true, method: 'dynamic-programme' });
    const equal = { ...problem, slos: [{ kind: 'throughput', a: 0, b: 1, ratio: 1 } as const] };
    expect(feasible(planSchedule(equal, OPTIONS)).bound.tasks).toBe(1);
  });
});

describe('figures of the document', () => {
  it('the error is 0.4 where 0.7 : 0.3 is asked and 0.5 : 0.5 given (Alpine 5.5.1)', () => {
    const problem = figure53(7 / 3);
    const schedule = feasible(planSchedule(problem, { ...OPTIONS, strategy: 'run-to-completion' }));
    expect(schedule.prediction.slo_error).toBeCloseTo(0.4, 9);
  });

  it('manual takes n + 1 tasks, semi-manual a queue at every branch, run-to-completion one task (Alpine 5.5.2)', () => {
    const all = compareSchedules(figure53(), ['run-to-completion', 'alpine', 'semi-manual', 'manual'], OPTIONS).map(
      feasible,
    );
    expect(all.map(({ tasks }) => tasks.length)).toEqual([1, 2, 3, 3]);
    const errors = all.map(({ prediction }) => prediction.slo_error);
    expect(errors[0]).toBeGreaterThan(0.4);
    for (const error of errors.slice(1)) expect(error).toBeLessThan(1e-9);
  });

  it('with what queues and classifiers cost, fewer tasks carry more: run-to-completion, then Alpine, then semi-manual', () => {
    const problem = { ...figure53(1.5), costs: { queue_cycles_per_packet: 1, classifier_cycles_per_packet: 1 } };
    const all = compareSchedules(problem, ['run-to-completion', 'alpine', 'semi-manual', 'manual'], OPTIONS).map(
      feasible,
    );
    const rates = all.map(({ prediction }) => prediction.throughput_pps);
    expect(rates.toSorted((a, b) => b - a)).toEqual(rates);
    expect(new Set(rates).size).toBe(4);
  });

  it('starves no class by hand either: with a classifier in front of Figure 5.3b, work alone would leave the second one nothing', () => {
    const parents = [-1, 0, 1, 2, 0, 4, 5];
    const [nf, output] = [460_000, 2];
    const cycles = [nf, nf, nf, output, nf, nf, output];
    const problem = treeProblem(parents, cycles, [1e4], [{ kind: 'cpu-time', a: 0, b: 1, ratio: 3 }], {
      workers: { count: 1, cycles_per_second: 1e9, sharing: 'replicate' },
    });
    const { prediction } = feasible(planSchedule(problem, { ...OPTIONS, strategy: 'semi-manual' }));
    expect(prediction.slo_error).toBeLessThan(1e-9);
    expect(prediction.classes[1]!.throughput_pps).toBeCloseTo(prediction.classes[0]!.throughput_pps, 6);
    expect(prediction.classes[1]!.throughput_pps).toBeGreaterThan(100);
  });

  it('cannot classify first where only a module further down can tell', () => {
    const problem = { ...figure53(), costs: { queue_cycles_per_packet: 1, classifier_cycles_per_packet: null } };
    const schedule = planSchedule(problem, { ...OPTIONS, strategy: 'manual' });
    expect(schedule).toMatchObject({ feasible: false, conflicts: [{ constraint: 'classifier' }] });
  });

  it('lets the lower class of Listing 5.2 have what is left, and nothing under overload', () => {
    const light = feasible(planSchedule(listing51([2e3, 4e3]), OPTIONS)).prediction;
    // Of 1e6 cycles 2e3 * 100 + 4e3 * 80 go to the first task, 4.8e5 are left at 100 each.
    expect(light.classes[0]!.throughput_pps).toBeCloseTo(2e3, 3);
    expect(light.classes[1]!.throughput_pps).toBeCloseTo(4e3, 3);
    const heavy = feasible(planSchedule(listing51([9e3, 1e3]), OPTIONS)).prediction;
    expect(heavy.classes[0]!.throughput_pps).toBeCloseTo(9e3, 3);
    expect(heavy.classes[1]!.throughput_pps).toBeCloseTo((1e6 - 9e3 * 100 - 1e3 * 80) / 100, 3);
    expect(heavy.slos[0]!.met).toBe(true);
    const flooded = feasible(planSchedule(listing51([2e4, 1e3]), OPTIONS)).prediction;
    expect(flooded.classes[1]!.throughput_pps).toBe(0);
  });
});
