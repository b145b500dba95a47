import { describe, expect, it } from 'vitest';
import { type Replay, replay } from '../testing/schedule-replay.js';
import { figure53, randomTree, withRatios } from '../testing/schedules.js';
import { planSchedule } from './plan-schedule.js';
import type { Mode, Schedule, ScheduleProblem, StrategyName, Workers } from './problem.js';

type Feasible = Extract<Schedule, { feasible: true }>;

const ONE: Workers = { count: 1, cycles_per_second: 1e6, sharing: 'replicate' };
const COSTS = { queue_cycles_per_packet: 20, classifier_cycles_per_packet: 60 };

/** Costs of tens of cycles, so that a poll is short beside a batch. */
function lifelike(seed: number, modules: number, kind: 'cpu-time' | 'throughput', workers: Workers): ScheduleProblem {
  const tree = randomTree(seed, modules, false);
  const problem = withRatios(
    { ...tree, cycles: tree.cycles.map((it) => 40 + 30 * it), ratios: tree.ratios.map((it) => 1 + it / 5) },
    kind,
  );
  return { ...problem, workers, costs: COSTS };
}

function plan(problem: ScheduleProblem, mode: Mode, strategy: StrategyName = 'alpine'): Feasible | null {
  const schedule = planSchedule(problem, { strategy, mode, budget: { steps: 1e5 } });
  return schedule.feasible ? schedule : null;
}

function expectAsPredicted({ prediction }: Feasible, run: Replay, capacity: number): void {
  const out = run.throughput_pps.reduce((a, b) => a + b, 0);
  expect(Math.abs(out / prediction.throughput_pps - 1)).toBeLessThan(0.01);
  expect(Math.abs(run.idle_cycles_per_second - prediction.idle_cycles_per_second)).toBeLessThan(0.01 * capacity);
  expect(Math.abs(run.useful_cycles_per_second - prediction.useful_cycles_per_second)).toBeLessThan(0.01 * capacity);
  expect(Math.abs(run.overhead_cycles_per_second - prediction.overhead_cycles_per_second)).toBeLessThan(
    0.01 * capacity,
  );
}

function errorOf({ prediction }: Feasible, values: readonly number[]): number {
  const all = values.reduce((a, b) => a + b, 0);
  return prediction.classes.reduce((sum, { share_target }, c) => sum + Math.abs(values[c]! / all - share_target), 0);
}

describe('a scheduler tree that is run packet by packet', () => {
  it('gives the CPU time asked for within 1 %, in the free mode by polling', () => {
    let polled = 0;
    for (let seed = 0; seed < 12; seed++) {
      const problem = lifelike(seed, 4 + (seed % 6), 'cpu-time', ONE);
      const schedule = plan(problem, 'free')!;
      const run = replay(problem, schedule, 20, seed);
      expect(errorOf(schedule, run.granted), `seed ${seed}`).toBeLessThan(0.01);
      expectAsPredicted(schedule, run, 1e6);
      if (run.idle_cycles_per_second > 1e4) polled++;
    }
    expect(polled).toBeGreaterThan(2);
  });

  it('gives it with work alone in the constrained mode', () => {
    let feasible = 0;
    for (let seed = 0; seed < 40; seed++) {
      const problem = lifelike(seed, 4 + (seed % 6), 'cpu-time', ONE);
      const schedule = plan(problem, 'constrained');
      if (schedule === null) continue;
      feasible++;
      const run = replay(problem, schedule, 20, seed);
      expect(run.idle_cycles_per_second).toBe(0);
      expect(errorOf(schedule, run.granted), `seed ${seed}`).toBeLessThan(0.01);
      expectAsPredicted(schedule, run, 1e6);
    }
    expect(feasible).toBeGreaterThan(8);
  });

  it('gives the packet rates asked for within 1 %', () => {
    for (let seed = 0; seed < 10; seed++) {
      const problem = lifelike(seed, 4 + (seed % 6), 'throughput', ONE);
      const schedule = plan(problem, 'constrained')!;
      const run = replay(problem, schedule, 20, seed);
      expect(errorOf(schedule, run.throughput_pps), `seed ${seed}`).toBeLessThan(0.01);
      expectAsPredicted(schedule, run, 1e6);
    }
  });

  it('does so under every strategy that heeds the SLO, and under run-to-completion as ill as predicted', () => {
    for (const strategy of ['manual', 'semi-manual', 'run-to-completion'] as const) {
      for (let seed = 0; seed < 6; seed++) {
        const problem = lifelike(seed, 6, 'cpu-time', ONE);
        const schedule = plan(problem, 'free', strategy)!;
        const run = replay(problem, schedule, 20, seed);
        expectAsPredicted(schedule, run, 1e6);
        const error = errorOf(schedule, run.granted);
        if (strategy === 'run-to-completion') expect(error).toBeCloseTo(schedule.prediction.slo_error, 1);
        else expect(error, `${strategy} ${seed}`).toBeLessThan(0.01);
      }
    }
  });

  it('does so on several workers, split with the faster ones held back or replicated', () => {
    for (const sharing of ['split', 'replicate'] as const) {
      for (let seed = 0; seed < 6; seed++) {
        const workers = { count: 2, cycles_per_second: 1e6, sharing };
        const problem = lifelike(seed, 8, 'cpu-time', workers);
        for (const mode of ['free', 'constrained'] as const) {
          const schedule = plan(problem, mode);
          if (schedule === null) continue;
          const run = replay(problem, schedule, 20, seed);
          expect(errorOf(schedule, run.granted), `${sharing} ${mode} ${seed}`).toBeLessThan(0.01);
          expectAsPredicted(schedule, run, 2e6);
        }
      }
    }
  });

  it('shows for Figure 5.3 that B polls for half of the time', () => {
    const toy = figure53();
    const problem = { ...toy, modules: toy.modules.map((it) => ({ ...it, cycles_per_packet: 100 })), workers: ONE };
    const schedule = plan(problem, 'free')!;
    const run = replay(problem, schedule, 20, 1);
    expect(run.granted[0]! / run.granted[1]!).toBeCloseTo(3, 1);
    expect(run.idle_cycles_per_second / 1e6).toBeCloseTo(0.5, 2);
    expect(run.throughput_pps[0]! / run.throughput_pps[1]!).toBeCloseTo(1, 1);
  });

  it('serves what has priority first and lets the rest have what is left', () => {
    const bare = lifelike(3, 7, 'cpu-time', { ...ONE, cycles_per_second: 1e6 });
    const slos = bare.classes.slice(1).map((_, i) => ({ kind: 'priority' as const, above: 0, below: i + 1 }));
    const classes = bare.classes.map((it) => ({ ...it, rate_pps: 1500 }));
    const problem = { ...bare, classes, slos };
    const schedule = plan(problem, 'constrained')!;
    const run = replay(problem, schedule, 40, 5);
    expect(run.throughput_pps[0]! / 1500).toBeGreaterThan(0.99);
    run.throughput_pps.forEach((pps, c) => {
      expect(Math.abs(pps - schedule.prediction.classes[c]!.throughput_pps)).toBeLessThan(20);
    });
    expect(schedule.prediction.slos.every(({ met }) => met)).toBe(true);
  });
});
