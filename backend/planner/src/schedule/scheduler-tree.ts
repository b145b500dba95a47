import type { ScheduleForm } from '@orrery/contract';
import type { SchedulerNode, WorkerSchedule } from './problem.js';

type Vertex = ScheduleForm['tree'][number];

const LABELS = { priority: 'priority', 'weighted-fair': 'weighted fair', 'rate-limit': 'rate limit' } as const;

/** The scheduler trees of all workers as one list in which each vertex comes after its parent. */
export function flattenTree(workers: readonly WorkerSchedule[], labelOf: (task: number) => string): Vertex[] {
  const vertices: Vertex[] = [];
  for (const { worker, root } of workers) if (root) visit(root, `w${worker}`, null, worker, {});
  return vertices;

  function visit(
    node: SchedulerNode,
    id: string,
    parent: string | null,
    worker: number,
    edge: { weight?: number; level?: number },
  ): void {
    const label = node.kind === 'task' ? labelOf(node.task) : LABELS[node.kind];
    vertices.push({
      id,
      parent,
      kind: node.kind,
      label,
      worker,
      weight: edge.weight ?? null,
      level: edge.level ?? null,
    });
    for (const [i, { child, ...below }] of childrenOf(node).entries()) visit(child, `${id}.${i}`, id, worker, below);
  }
}

function childrenOf(node: SchedulerNode): { child: SchedulerNode; weight?: number; level?: number }[] {
  switch (node.kind) {
    case 'task':
      return [];
    case 'rate-limit':
      return [{ child: node.child }];
    case 'priority':
      return node.children.map(({ level, node: child }) => ({ child, level }));
    case 'weighted-fair':
      return node.children.map(({ weight, node: child }) => ({ child, weight }));
  }
}
