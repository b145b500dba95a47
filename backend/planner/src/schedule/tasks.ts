import type { Layout } from './layout.js';
import type { ScheduleProblem } from './problem.js';

/** A task before it has a worker. */
export interface TaskShape {
  readonly head: number;
  readonly nodes: readonly number[];
  /** Index of the task whose packets it gets; -1 for a source. */
  readonly upstream: number;
  readonly level: number;
  readonly service: number;
  /** Cycles of modules per second at a service of 1, for all that is offered. */
  readonly work: number;
  /** The same for queues and classifier. */
  readonly overhead: number;
  /** Packets offered per second. */
  readonly rate_pps: number;
}

/** Tasks in the order of their heads, so that every one comes after its upstream. */
export function tasksOf(problem: ScheduleProblem, { tree, nodeLevel, heads, service, flat }: Layout): TaskShape[] {
  const { queue_cycles_per_packet } = problem.costs;
  const taskAt = new Int32Array(heads.length);
  const nodes: number[][] = [];
  heads.forEach((head, v) => {
    taskAt[v] = head ? nodes.length : taskAt[tree.parent[v]!]!;
    if (head) nodes.push([]);
    nodes[taskAt[v]!]!.push(v);
  });
  return nodes.map((members) => {
    const head = members[0]!;
    const up = tree.parent[head]!;
    let work = 0;
    let overhead = up < 0 ? 0 : queue_cycles_per_packet * tree.rate_pps[head]!;
    for (const v of members) {
      const cycles = tree.cycles_per_packet[v]! * tree.rate_pps[v]!;
      if (tree.module[v] === -1) overhead += cycles;
      else work += cycles;
    }
    const level = flat ? 0 : nodeLevel[head]!;
    const upstream = up < 0 ? -1 : taskAt[up]!;
    return {
      head,
      nodes: members,
      upstream,
      level,
      service: service[head]!,
      work,
      overhead,
      rate_pps: tree.rate_pps[head]!,
    };
  });
}

/** Cycles per second that a task needs for its service, before they are scaled to what the workers have. */
export function demandOf({ service, work, overhead }: TaskShape): number {
  return service * (work + overhead);
}

/** Queue or queues between tasks, by the modules that they connect. */
export function queuesOf(tasks: readonly TaskShape[], { tree }: Layout) {
  return tasks.flatMap(({ head, upstream }, task) =>
    upstream < 0 ? [] : [{ task, from_module: tree.module[tree.parent[head]!]!, to_module: tree.module[head]! }],
  );
}
