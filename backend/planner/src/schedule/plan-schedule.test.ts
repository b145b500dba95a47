import { describe, expect, it } from 'vitest';
import { BadProblem } from '../bad-problem.js';
import { seededRandom, shuffled } from '../random.js';
import {
  fewestTasksByIntervals,
  figure53,
  leafTargets,
  randomTree,
  treeProblem,
  withRatios,
} from '../testing/schedules.js';
import { planSchedule } from './plan-schedule.js';
import type { Mode, Schedule, ScheduleProblem, SchedulerNode, Slo } from './problem.js';

const plan = (problem: ScheduleProblem, mode: Mode = 'free') =>
  planSchedule(problem, { strategy: 'alpine', mode, budget: { steps: 1e5 } });

function feasible(schedule: Schedule): Extract<Schedule, { feasible: true }> {
  if (!schedule.feasible) throw new Error('must be feasible');
  return schedule;
}

describe('planSchedule, under changes that change nothing', () => {
  it('numbers modules and classes as it likes', () => {
    for (let seed = 0; seed < 200; seed++) {
      const problem = withRatios(randomTree(seed, 2 + (seed % 9), seed % 2 === 0), 'cpu-time');
      const random = seededRandom(seed);
      const module = shuffled([...problem.modules.keys()], random);
      const cls = shuffled([...problem.classes.keys()], random);
      const place = (order: readonly number[], i: number) => order.indexOf(i);
      const other: ScheduleProblem = {
        ...problem,
        modules: module.map((i) => problem.modules[i]!),
        edges: shuffled(problem.edges, random).map(({ from, to }) => ({
          from: place(module, from),
          to: place(module, to),
        })),
        classes: cls.map((c) => ({
          ...problem.classes[c]!,
          path: problem.classes[c]!.path.map((i) => place(module, i)),
        })),
        slos: shuffled(problem.slos, random).map(
          (slo): Slo => (slo.kind === 'priority' ? slo : { ...slo, a: place(cls, slo.a), b: place(cls, slo.b) }),
        ),
      };
      for (const mode of ['free', 'constrained'] as const) {
        const [a, b] = [plan(problem, mode), plan(other, mode)];
        expect(b.feasible).toBe(a.feasible);
        if (!a.feasible || !b.feasible) continue;
        expect(b.bound.tasks).toBe(a.bound.tasks);
        expect(b.prediction.throughput_pps).toBeCloseTo(a.prediction.throughput_pps, 3);
      }
    }
  });

  it('scales with costs and with rates', () => {
    for (let seed = 0; seed < 200; seed++) {
      const problem = withRatios(randomTree(seed, 2 + (seed % 20), seed % 2 === 0), 'cpu-time');
      const dearer = {
        ...problem,
        modules: problem.modules.map((it) => ({ ...it, cycles_per_packet: it.cycles_per_packet * 64 })),
      };
      const busier = { ...problem, classes: problem.classes.map((it) => ({ ...it, rate_pps: it.rate_pps * 8 })) };
      const a = feasible(plan(problem));
      const [b, c] = [feasible(plan(dearer)), feasible(plan(busier))];
      expect(b.bound).toEqual(a.bound);
      expect(c.bound).toEqual(a.bound);
      expect(b.prediction.throughput_pps * 64).toBeCloseTo(a.prediction.throughput_pps, 6);
      expect(c.prediction.throughput_pps).toBeCloseTo(a.prediction.throughput_pps, 6);
    }
  });

  it('never takes fewer tasks for one class more', () => {
    for (let seed = 0; seed < 200; seed++) {
      const tree = randomTree(seed, 3 + (seed % 7), seed % 2 === 0);
      const problem = withRatios(tree, 'cpu-time');
      const last = problem.classes.length - 1;
      if (last === 0) continue;
      const classes = problem.classes.slice(0, last);
      const used = [...problem.modules.keys()].filter((i) => classes.some(({ path }) => path.includes(i)));
      const fewer: ScheduleProblem = {
        ...problem,
        modules: used.map((i) => problem.modules[i]!),
        edges: problem.edges
          .filter(({ from, to }) => used.includes(from) && used.includes(to))
          .map(({ from, to }) => ({ from: used.indexOf(from), to: used.indexOf(to) })),
        classes: classes.map((it) => ({ ...it, path: it.path.map((i) => used.indexOf(i)) })),
        slos: problem.slos.slice(0, last - 1),
      };
      expect(feasible(plan(fewer)).bound.tasks).toBeLessThanOrEqual(feasible(plan(problem)).bound.tasks);
    }
  });

  it('takes one task where the ratios are those of the load, whatever the measure', () => {
    for (let seed = 0; seed < 50; seed++) {
      const problem = treeProblem([-1, 0, 0, 1, 1], [1, 2, 3, 4, 5], [1e6 + seed, 2e6, 3e6], []);
      const cost = problem.classes.map(({ path }) =>
        path.reduce((sum, i) => sum + problem.modules[i]!.cycles_per_packet, 0),
      );
      const rate = problem.classes.map((it) => it.rate_pps);
      const time: Slo[] = [1, 2].map((a) => ({
        kind: 'cpu-time',
        a,
        b: 0,
        ratio: (rate[a]! * cost[a]!) / (rate[0]! * cost[0]!),
      }));
      const pace: Slo[] = [1, 2].map((a) => ({ kind: 'throughput', a, b: 0, ratio: rate[a]! / rate[0]! }));
      for (const slos of [time, pace, []])
        for (const mode of ['free', 'constrained'] as const)
          expect(feasible(plan({ ...problem, slos }, mode)).tasks.length).toBe(1);
    }
  });
});

/** Fewest tasks that let through a given part of each leaf's packets, over every cut; one module heads a task anyway. */
function fewestByRates(parents: readonly number[], target: readonly number[], forced: number): number {
  const n = parents.length;
  let best = n;
  for (let code = 0; code < 2 ** (n - 1); code++) {
    const task: number[] = [];
    const up: number[] = [];
    parents.forEach((parent, v) => {
      const head = v === 0 || v === forced || ((code >> (v - 1)) & 1) === 1;
      task.push(head ? up.push(v === 0 ? -1 : task[parent]!) - 1 : task[parent]!);
    });
    const fixed = up.map(() => new Set<number>());
    target.forEach((it, v) => {
      if (!parents.includes(v)) fixed[task[v]!]!.add(it);
    });
    const least = up.map((_, k) => Math.max(0, ...fixed[k]!));
    for (let k = up.length - 1; k > 0; k--) least[up[k]!] = Math.max(least[up[k]!]!, least[k]!);
    if (fixed.every((it, k) => it.size <= 1 && (it.size === 0 || it.has(least[k]!)))) best = Math.min(best, up.length);
  }
  return best;
}

describe('throughput ratios', () => {
  it('take as few tasks as any cut, hold, and waste nothing by polling', () => {
    for (let seed = 0; seed < 800; seed++) {
      const tree = randomTree(seed, 2 + (seed % 8), seed % 4 > 0);
      const bare = withRatios(tree, 'throughput');
      const forced = seed % 3 === 0 ? 0 : seed % tree.parents.length;
      const modules = bare.modules.map((it, i) => ({ ...it, schedulable: i === forced }));
      const problem = { ...bare, modules };
      const rate = tree.parents.map(() => 0);
      problem.classes.forEach(({ path, rate_pps }, c) => {
        const slo = problem.slos.find((it) => it.kind === 'throughput' && it.a === c);
        rate[path.at(-1)!] = Number((((slo?.kind === 'throughput' ? slo.ratio : 1) * 1e6) / rate_pps).toPrecision(9));
      });
      const schedule = feasible(plan(problem));
      expect(schedule.bound.tasks, `seed ${seed}`).toBe(fewestByRates(tree.parents, rate, forced));
      expect(schedule.prediction.slo_error).toBeLessThan(1e-9);
      expect(schedule.prediction.idle_cycles_per_second).toBeLessThan(1e-6);
      expect(schedule.prediction.slos.every(({ met }) => met)).toBe(true);
    }
  });
});

describe('graphs and workers', () => {
  it('unfolds a module that two paths share, once for each path', () => {
    const bare = treeProblem([-1, 0, 0, 1], [1, 1, 1, 2], [1e6], []);
    const problem: ScheduleProblem = {
      ...bare,
      edges: [...bare.edges, { from: 2, to: 3 }],
      classes: [
        { id: 'left', path: [0, 1, 3], rate_pps: 1e6 },
        { id: 'right', path: [0, 2, 3], rate_pps: 1e6 },
      ],
      slos: [{ kind: 'cpu-time', a: 0, b: 1, ratio: 1.2 }],
    };
    const schedule = feasible(plan(problem));
    expect(schedule.tasks.flatMap(({ modules }) => modules).filter((it) => it === 3)).toHaveLength(2);
    expect(schedule.prediction.slo_error).toBeLessThan(1e-9);
    const split = { ...problem, workers: { count: 2, cycles_per_second: 1e3, sharing: 'split' as const } };
    const workers = feasible(plan(split))
      .tasks.filter(({ modules }) => modules.includes(3))
      .map((it) => it.workers[0]);
    expect(new Set(workers).size).toBe(1);
  });

  it('begins a task at every module that is scheduled by itself', () => {
    const bare = withRatios(randomTree(5, 9, false), 'cpu-time');
    const modules = bare.modules.map((it, i) => ({ ...it, schedulable: i === 1 || i === 4 }));
    const schedule = feasible(plan({ ...bare, modules }));
    const heads = schedule.tasks.map((it) => it.modules[0]);
    for (const head of [0, 1, 4]) expect(heads).toContain(head);
    expect(schedule.prediction.slo_error).toBeLessThan(1e-6);
  });

  it('divides tasks over workers, holds back those with less, and keeps the ratios', () => {
    for (let seed = 0; seed < 60; seed++) {
      const bare = withRatios(randomTree(seed, 6 + (seed % 12), false), 'cpu-time');
      const count = 2 + (seed % 3);
      const schedule = feasible(plan({ ...bare, workers: { count, cycles_per_second: 1e3, sharing: 'split' } }));
      expect(schedule.prediction.slo_error).toBeLessThan(1e-6);
      const granted = new Array<number>(count).fill(0);
      schedule.tasks.forEach(({ workers }, i) => {
        expect(workers).toHaveLength(1);
        const it = schedule.prediction.tasks[i]!;
        granted[workers[0]!]! +=
          it.useful_cycles_per_second + it.idle_cycles_per_second + it.overhead_cycles_per_second;
      });
      expect(Math.max(...granted)).toBeCloseTo(1e3, 3);
      schedule.workers.forEach(({ root }, w) => {
        expect(leaves(root).sort()).toEqual(schedule.tasks.flatMap((it, i) => (it.workers[0] === w ? [i] : [])).sort());
        if (root?.kind === 'rate-limit') expect(root.cycles_per_second).toBeCloseTo(granted[w]!, 3);
      });
    }
  });

  it('keeps every module of every class in exactly one task, and weights that add up to one', () => {
    for (let seed = 0; seed < 100; seed++) {
      const problem = withRatios(
        randomTree(seed, 3 + (seed % 30), seed % 2 === 0),
        seed % 3 ? 'cpu-time' : 'throughput',
      );
      const schedule = feasible(plan(problem));
      const modules = schedule.tasks.flatMap((it) => it.modules).sort((a, b) => a - b);
      expect(modules).toEqual([...problem.modules.keys()]);
      expect(schedule.tasks.reduce((sum, { weight }) => sum + weight, 0)).toBeCloseTo(1, 9);
      expect(schedule.queues.length).toBe(schedule.tasks.length - 1);
      const { prediction } = schedule;
      const spent =
        prediction.useful_cycles_per_second + prediction.idle_cycles_per_second + prediction.overhead_cycles_per_second;
      expect(spent + prediction.unused_cycles_per_second).toBeCloseTo(1e3, 6);
    }
  });

  it('sets several sources beside each other', () => {
    const two = treeProblem(
      [-1, -1, 0, 0, 1],
      [1, 1, 2, 3, 4],
      [1e6],
      [
        { kind: 'cpu-time', a: 0, b: 1, ratio: 2 },
        { kind: 'cpu-time', a: 2, b: 1, ratio: 3 },
      ],
    );
    const schedule = feasible(plan(two));
    expect(schedule.tasks.filter(({ upstream }) => upstream === null)).toHaveLength(2);
    expect(schedule.prediction.slos.map(({ predicted }) => predicted)).toEqual([
      expect.closeTo(2, 9),
      expect.closeTo(3, 9),
    ]);
  });
});

function leaves(node: SchedulerNode | null): number[] {
  if (node === null) return [];
  if (node.kind === 'task') return [node.task];
  if (node.kind === 'rate-limit') return leaves(node.child);
  return node.children.flatMap(({ node: child }) => leaves(child));
}

describe('limits', () => {
  it('says so when the budget ends before the search', () => {
    let open = 0;
    for (let seed = 0; seed < 200; seed += 2) {
      const tree = randomTree(seed, 9, true);
      const problem = withRatios(tree, 'cpu-time');
      const exact = fewestTasksByIntervals(tree, leafTargets(problem));
      const options = { strategy: 'alpine', mode: 'free', budget: { steps: 5 } } as const;
      const { bound, prediction } = feasible(planSchedule(problem, options));
      expect(bound.lower_bound).toBeLessThanOrEqual(exact);
      expect(bound.tasks).toBeGreaterThanOrEqual(exact);
      expect(prediction.slo_error).toBeLessThan(1e-6);
      if (!bound.proven_optimal) open++;
    }
    expect(open).toBeGreaterThan(20);
  });

  it.each<[string, (problem: ScheduleProblem) => unknown]>([
    [
      '/modules/1/cycles_per_packet',
      (it) => ({ ...it, modules: it.modules.with(1, { id: 'B', cycles_per_packet: 0 }) }),
    ],
    [
      '/modules/2/cycles_per_packet',
      (it) => ({ ...it, modules: it.modules.with(2, { id: 'C', cycles_per_packet: Number.NaN }) }),
    ],
    ['/modules/3', (it) => ({ ...it, modules: [...it.modules, { id: 'D', cycles_per_packet: 1 }] })],
    ['/edges/0/to', (it) => ({ ...it, edges: it.edges.with(0, { from: 0, to: 9 }) })],
    ['/classes', (it) => ({ ...it, classes: [], slos: [] })],
    ['/classes/0/rate_pps', (it) => ({ ...it, classes: it.classes.with(0, { ...it.classes[0]!, rate_pps: -1 }) })],
    ['/classes/0/path/1', (it) => ({ ...it, edges: it.edges.slice(1) })],
    ['/classes/0/path/0', (it) => ({ ...it, classes: it.classes.with(0, { ...it.classes[0]!, path: [1] }) })],
    ['/classes/0/path/0', (it) => ({ ...it, classes: it.classes.with(0, { ...it.classes[0]!, path: [0] }) })],
    ['/classes/0/path', (it) => ({ ...it, classes: it.classes.with(0, { ...it.classes[0]!, path: [] }) })],
    ['/classes/2/path', (it) => ({ ...it, classes: [...it.classes, it.classes[0]!] })],
    ['/slos/0/ratio', (it) => ({ ...it, slos: [{ kind: 'cpu-time', a: 0, b: 1, ratio: 0 }] })],
    ['/slos/0/a', (it) => ({ ...it, slos: [{ kind: 'cpu-time', a: 2, b: 1, ratio: 1 }] })],
    ['/slos/0/b', (it) => ({ ...it, slos: [{ kind: 'cpu-time', a: 1, b: 1, ratio: 1 }] })],
    ['/slos/1/ratio', (it) => ({ ...it, slos: [...it.slos, { kind: 'cpu-time', a: 1, b: 0, ratio: 3 }] })],
    ['/slos/1/kind', (it) => ({ ...it, slos: [...it.slos, { kind: 'throughput', a: 1, b: 0, ratio: 1 }] })],
    ['/slos/1', (it) => ({ ...it, slos: [...it.slos, { kind: 'priority', above: 1, below: 0 }] })],
    [
      '/slos/0',
      (it) => ({
        ...it,
        slos: [
          { kind: 'priority', above: 1, below: 0 },
          { kind: 'priority', above: 0, below: 1 },
        ],
      }),
    ],
    ['/workers/count', (it) => ({ ...it, workers: { ...it.workers, count: 1.5 } })],
    ['/workers/cycles_per_second', (it) => ({ ...it, workers: { ...it.workers, cycles_per_second: 0 } })],
    ['/costs/queue_cycles_per_packet', (it) => ({ ...it, costs: { ...it.costs, queue_cycles_per_packet: -1 } })],
  ])('refuses a problem with an unsound %s', (field, change) => {
    const problem = change(figure53()) as ScheduleProblem;
    expect(() => plan(problem)).toThrow(BadProblem);
    expect(() => plan(problem)).toThrow(expect.objectContaining({ field }));
  });
});
