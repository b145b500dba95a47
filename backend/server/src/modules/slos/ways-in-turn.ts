import { type Instance, nfInstances, type Plan, sampleKey } from '@orrery/contract';
import { grouped } from '@orrery/planner';
import { type ClassWay, type Point, packetsAt, type Task } from './class-ways.js';

/** By class: the NFs of its way, and of each the instances, every one of which is a task with a queue of its own. */
export function waysInTurn(plan: Plan, chainId: string, chainName: string): Map<string, ClassWay> {
  const instances = grouped(
    nfInstances(plan.graph).filter(({ chain_id }) => chain_id === chainId),
    ({ node_id }) => node_id,
  );
  const replied = new Set(
    plan.graph.edges.flatMap(({ direction, from, to }) => (direction === 'return' ? [from, to] : [])),
  );
  const classes = plan.classes.filter(({ chain_id }) => chain_id === chainId);
  const passing = grouped(
    classes.flatMap(({ id, nodes }) => nodes.map((node) => ({ id, node }))),
    ({ node }) => node,
  );
  const points = new Map<string, Point>();
  const tasks = new Map<string, Task[]>();
  for (const [node, those] of passing) {
    const own = instances.get(node) ?? [];
    if (own.length === 0) continue;
    const ids = own.map(({ id }) => id);
    const point: Point = {
      id: `${chainName}.${node}`,
      kind: 'nf',
      hasQueue: true,
      counts: !ids.some((id) => replied.has(id)),
      classes: new Set(those.map(({ id }) => id)),
      ...packetsAt('nf', ids),
    };
    points.set(node, point);
    tasks.set(
      node,
      own.map((instance) => taskOf(instance, point)),
    );
  }
  return new Map(
    classes.map(({ id, nodes }) => [
      id,
      {
        id,
        points: nodes.flatMap((node) => points.get(node) ?? []),
        tasks: nodes.flatMap((node) => tasks.get(node) ?? []),
      },
    ]),
  );
}

function taskOf({ id, node_id, server, core, driver }: Instance, point: Point): Task {
  const { taken, served } = packetsAt('nf', [id]);
  const cpu = sampleKey('instance', id, 'cpu');
  return {
    queue: {
      id,
      title: `the queue of ${id}`,
      ...{ server, core, taken, served },
      classes: point.classes,
      waiting: sampleKey('instance', id, 'queue'),
      drops: sampleKey('instance', id, 'full_pps'),
    },
    nfs: [{ point, cpu }],
    cpu,
    unknownCpu: driver === 'board' ? `the CPU time of ${node_id} is not measured: it runs on a board` : null,
  };
}
