import { seededRandom, shuffled } from '../random.js';
import type { Schedule, ScheduleProblem, SchedulerNode } from '../schedule/problem.js';

type Feasible = Extract<Schedule, { feasible: true }>;

const BATCH = 16;
const QUEUE = 512;
const POLL_CYCLES = 40;
/** Packets whose classes are drawn together, so that each class keeps its part of the whole. */
const BLOCK = 256;

export interface Replay {
  /** Cycles per second granted to modules for each class; polling counts for classes as packets would. */
  readonly granted: number[];
  readonly throughput_pps: number[];
  readonly useful_cycles_per_second: number;
  readonly idle_cycles_per_second: number;
  readonly overhead_cycles_per_second: number;
}

/**
 * Runs the scheduler trees packet by packet with finite queues and batches, from what a schedule says alone: its tasks,
 * its trees and its weights.
 */
export function replay(problem: ScheduleProblem, schedule: Feasible, seconds: number, seed: number): Replay {
  const { tasks } = schedule;
  const replicas = tasks[0]!.workers.length;
  const hz = problem.workers.cycles_per_second;
  const random = seededRandom(seed);
  const rates = problem.classes.map(({ rate_pps }) => rate_pps / replicas);
  const cost = costs(problem, schedule);
  const queues = tasks.map((): number[] => []);
  const sources = tasks.flatMap(({ upstream }, i) =>
    upstream === null ? [{ task: i, at: 0, owed: 0, block: [] as number[] }] : [],
  );
  const next = tasks.map(({ classes }, i) => {
    const to = new Map<number, number>();
    tasks.forEach((it, k) => {
      if (it.upstream === i) for (const c of it.classes) if (classes.includes(c)) to.set(c, k);
    });
    return to;
  });
  const useful = tasks.map(() => 0);
  const idle = tasks.map(() => 0);
  const overhead = tasks.map(() => 0);
  const usefulOf = problem.classes.map(() => 0);
  const out = problem.classes.map(() => 0);
  const machines = schedule.workers
    .slice(0, replicas > 1 ? 1 : undefined)
    .map(({ root }) => ({ root, clock: 0, spent: 0 }));
  const passes = new Map<SchedulerNode, number[]>();
  const end = seconds * hz;
  for (;;) {
    const machine = machines.reduce((a, b) => (b.clock < a.clock ? b : a));
    if (machine.clock >= end) break;
    arrive(machine.clock);
    const used = machine.root === null ? 0 : step(machine.root, machine);
    machine.clock += Math.max(used, used === 0 ? POLL_CYCLES : 0);
  }
  return summary();

  function arrive(now: number): void {
    for (const source of sources) {
      const mine = tasks[source.task]!.classes;
      const rate = mine.reduce((sum, c) => sum + rates[c]!, 0);
      source.owed += ((now - source.at) / hz) * rate;
      source.at = now;
      const queue = queues[source.task]!;
      while (source.owed >= 1 && queue.length < QUEUE) {
        if (source.block.length === 0) source.block = blockOf(mine, rate);
        queue.push(source.block.pop()!);
        source.owed--;
      }
      if (queue.length >= QUEUE) source.owed %= 1;
    }
  }

  function blockOf(mine: readonly number[], rate: number): number[] {
    const exact = mine.map((c) => (BLOCK * rates[c]!) / rate);
    return shuffled(
      mine.flatMap((c, k) => new Array<number>(Math.floor(exact[k]! + random())).fill(c)),
      random,
    );
  }

  /** Cycles used; 0 when nothing was ready. */
  function step(node: SchedulerNode, machine: { clock: number; spent: number }): number {
    if (node.kind === 'task') return run(node.task);
    if (node.kind === 'rate-limit') {
      if (machine.spent > (machine.clock / hz) * node.cycles_per_second) return 0;
      const used = step(node.child, machine);
      machine.spent += used;
      return used;
    }
    if (node.kind === 'priority') {
      for (const { node: child } of node.children.toSorted((a, b) => a.level - b.level))
        if (ready(child)) return step(child, machine);
      return 0;
    }
    const pass = passes.get(node) ?? node.children.map(() => 0);
    passes.set(node, pass);
    const able = [...pass.keys()].filter((i) => node.when_idle === 'poll' || ready(node.children[i]!.node));
    if (able.length === 0) return 0;
    const chosen = able.reduce((a, b) => (pass[b]! < pass[a]! ? b : a));
    for (const i of pass.keys()) if (!able.includes(i)) pass[i] = Math.max(pass[i]!, pass[chosen]!);
    const used = step(node.children[chosen]!.node, machine);
    pass[chosen]! += used / node.children[chosen]!.weight;
    return used;
  }

  function ready(node: SchedulerNode): boolean {
    if (node.kind === 'task') return queues[node.task]!.length > 0;
    if (node.kind === 'rate-limit') return ready(node.child);
    if (node.kind === 'weighted-fair' && node.when_idle === 'poll') return true;
    return node.children.some(({ node: child }) => ready(child));
  }

  function run(task: number): number {
    const batch = queues[task]!.splice(0, BATCH);
    if (batch.length === 0) {
      idle[task]! += POLL_CYCLES;
      return POLL_CYCLES;
    }
    let used = 0;
    for (const c of batch) {
      const { work, extra } = cost[task]!.get(c)!;
      used += work + extra;
      useful[task]! += work;
      overhead[task]! += extra;
      usefulOf[c]! += work;
      const to = next[task]!.get(c);
      if (to === undefined) out[c]!++;
      else if (queues[to]!.length < QUEUE) queues[to]!.push(c);
    }
    return used;
  }

  function summary(): Replay {
    const scale = replicas / seconds;
    const granted = problem.classes.map((_, c) => {
      let sum = usefulOf[c]!;
      tasks.forEach(({ classes }, i) => {
        if (!classes.includes(c)) return;
        let all = 0;
        for (const k of classes) all += rates[k]! * (cost[i]!.get(k)!.work + cost[i]!.get(k)!.extra);
        sum += (idle[i]! * rates[c]! * cost[i]!.get(c)!.work) / all;
      });
      return sum * scale;
    });
    const total = (of: readonly number[]) => of.reduce((a, b) => a + b, 0) * scale;
    return {
      granted,
      throughput_pps: out.map((it) => it * scale),
      useful_cycles_per_second: total(useful),
      idle_cycles_per_second: total(idle),
      overhead_cycles_per_second: total(overhead),
    };
  }
}

/** What a packet of each class costs in each task: its path is followed from task to task. */
function costs(
  { modules, classes, costs: { queue_cycles_per_packet, classifier_cycles_per_packet } }: ScheduleProblem,
  { tasks }: Feasible,
) {
  const out = tasks.map(() => new Map<number, { work: number; extra: number }>());
  classes.forEach(({ path }, c) => {
    let at = tasks.findIndex(
      (it) => it.upstream === null && it.classes.includes(c) && (it.modules[0] === path[0] || it.modules[0] === -1),
    );
    const enter = (task: number) => {
      const extra = tasks[task]!.modules[0] === -1 ? classifier_cycles_per_packet! : 0;
      out[task]!.set(c, { work: 0, extra: extra + (tasks[task]!.upstream === null ? 0 : queue_cycles_per_packet) });
    };
    enter(at);
    for (const module of path) {
      const child = tasks.findIndex((it) => it.upstream === at && it.classes.includes(c) && it.modules[0] === module);
      if (child >= 0) {
        at = child;
        enter(at);
      }
      out[at]!.get(c)!.work += modules[module]!.cycles_per_packet;
    }
  });
  return out;
}
