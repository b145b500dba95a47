import type { CoreScheduler, EngineGraph, EngineSchedulerNode, SchedulerNode } from '@orrery/contract';
import type { SchedulerProbe } from '../nf-driver.js';
import type { EngineTraits } from './engine-traits.js';

type WorkerScheduler = NonNullable<EngineGraph['schedulers']>[number];

const ROOT = 'cores';
const NO_PLACE = { parent: null, weight: null, level: null } as const;

/**
 * The scheduler tree of each worker. Cores that share a worker share its time equally among those that have work.
 * `tasksOf`: the tasks of a node of the plan; one without tasks of its own, such as a merge in the pass of its last branch,
 * is left out. Time of a core becomes cycles of the engine's clock.
 */
export function workerSchedulers(
  schedulers: readonly CoreScheduler[],
  { workers, cycles_per_second }: Pick<EngineTraits, 'workers' | 'cycles_per_second'>,
  tasksOf: (id: string) => readonly string[],
): WorkerScheduler[] {
  return Array.from({ length: workers }, (_, worker) => worker).flatMap((worker): WorkerScheduler[] => {
    const cores = onWorker(schedulers, worker, workers);
    const trees = cores.map(({ core, tree }) => {
      const nodes = tree.flatMap((node) => inEngine(node, cycles_per_second, tasksOf));
      return cores.length === 1 ? nodes : nodes.map((node) => beneath(node, core));
    });
    const root = { kind: 'weighted-fair', id: ROOT, ...NO_PLACE, when_idle: 'yield' } as const;
    const tree = pruned(cores.length === 1 ? trees.flat() : [root, ...trees.flat()]);
    return tree.length > 0 ? [{ worker, tree }] : [];
  });
}

function onWorker(schedulers: readonly CoreScheduler[], worker: number, workers: number): CoreScheduler[] {
  return schedulers.filter(({ core }) => core % workers === worker);
}

/** Where the figures of each core's tree are read. */
export function schedulerProbes(schedulers: readonly CoreScheduler[], workers: number): SchedulerProbe[] {
  return schedulers.map(({ core, tree }) => {
    const worker = core % workers;
    const alone = onWorker(schedulers, worker, workers).length === 1;
    return { core, worker, nodes: tree.map(({ id }) => ({ id, node: alone ? id : nameOn(core, id) })) };
  });
}

function nameOn(core: number, id: string): string {
  return `core-${core}.${id}`;
}

/** The node in the tree of a worker that several cores share. */
function beneath<T extends EngineSchedulerNode>(node: T, core: number): T {
  const id = nameOn(core, node.id);
  return node.parent === null
    ? { ...node, id, parent: ROOT, weight: 1 }
    : { ...node, id, parent: nameOn(core, node.parent) };
}

/** `cyclesPerSecond`: of the engine's clock, which is seldom the one that the infrastructure declares. */
function inEngine(
  node: SchedulerNode,
  cyclesPerSecond: number,
  tasksOf: (id: string) => readonly string[],
): EngineSchedulerNode[] {
  if (node.kind === 'rate-limit') {
    const { resource, per_second, ...limit } = node;
    if (resource !== 'core-time') return [{ ...limit, resource, per_second }];
    return [{ ...limit, resource: 'cycles', per_second: per_second * cyclesPerSecond }];
  }
  if (node.kind !== 'task') return [node];
  const { starts_at, ...place } = node;
  const tasks = tasksOf(starts_at);
  if (tasks.length === 1) return [{ ...place, module: tasks[0]! }];
  if (tasks.length === 0) return [];
  const turns = tasks.map(
    (module, i): EngineSchedulerNode => ({ ...NO_PLACE, kind: 'task', id: `${node.id}.${i}`, parent: node.id, module }),
  );
  return [{ ...place, kind: 'round-robin' }, ...turns];
}

/** Without policies that have nothing below them. */
function pruned(tree: readonly EngineSchedulerNode[]): EngineSchedulerNode[] {
  const kept = new Set<string>();
  for (const { kind, id, parent } of tree.toReversed()) {
    if (kind !== 'task' && !kept.has(id)) continue;
    kept.add(id);
    if (parent !== null) kept.add(parent);
  }
  return tree.filter(({ id }) => kept.has(id));
}
