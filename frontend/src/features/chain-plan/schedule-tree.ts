import type { SchedulerVertex } from '@orrery/contract';

export interface SchedulerBranch {
  readonly vertex: SchedulerVertex;
  readonly children: readonly SchedulerBranch[];
  /** Share among its siblings; null if weights are irrelevant. */
  readonly share: number | null;
}

export interface WorkerTree {
  readonly worker: number;
  readonly roots: readonly SchedulerBranch[];
}

/** The scheduler of each worker from the root down, in order of service. */
export function workerTrees(vertices: readonly SchedulerVertex[]): WorkerTree[] {
  const branches = (parent: string | null, worker: number): SchedulerBranch[] => {
    const siblings = vertices.filter((vertex) => vertex.parent === parent && vertex.worker === worker);
    const weights = siblings.reduce((sum, { weight }) => sum + (weight ?? 0), 0);
    return siblings
      .toSorted((a, b) => (a.level ?? 0) - (b.level ?? 0))
      .map((vertex) => ({
        vertex,
        children: branches(vertex.id, worker),
        share: vertex.weight !== null && weights > 0 ? vertex.weight / weights : null,
      }));
  };
  const workers = [...new Set(vertices.map(({ worker }) => worker))].sort((a, b) => a - b);
  return workers.map((worker) => ({ worker, roots: branches(null, worker) }));
}
