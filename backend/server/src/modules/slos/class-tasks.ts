import { type ClassSlo, type Instance, isPlanned, type Plan, type QueueNode, sampleKey } from '@orrery/contract';
import { grouped } from '@orrery/planner';
import { type ClassWay, type Count, type Point, packetsAt, type Task } from './class-ways.js';
import { waysInTurn } from './ways-in-turn.js';

/** An objective between two classes, and the ways of all classes of its chain. */
export interface ClassObjective {
  readonly slo: ClassSlo;
  /** `a` and `b`, or `above` and `below`. */
  readonly ends: readonly [ClassWay, ClassWay];
  readonly ways: ReadonlyMap<string, ClassWay>;
  /** Classes at whose level tasks of each class may run: those that have priority over it. None where cores serve in turn. */
  readonly over: ReadonlyMap<string, ReadonlySet<string>>;
  readonly isPlanned: boolean;
}

/** The objectives between classes that have packets to judge them by, whether a planned schedule keeps them or cores serve in turn. */
export function classObjectives(plan: Plan, chainId: string): ClassObjective[] {
  const chain = plan.chains.find(({ chain_id }) => chain_id === chainId);
  if (!chain || chain.definition.class_slos.length === 0) return [];
  const { class_slos, name } = chain.definition;
  const planned = isPlanned(chain.schedule);
  const ways = planned ? waysOf(plan, chainId, name) : waysInTurn(plan, chainId, name);
  const classOf = (edge: string) =>
    plan.classes.find(({ chain_id, edges }) => chain_id === chainId && edges.includes(edge))?.id ?? '';
  const named = class_slos.flatMap((slo) => {
    const [x, y] = slo.kind === 'priority' ? [slo.above, slo.below] : [slo.a, slo.b];
    const [first, second] = [ways.get(classOf(x)), ways.get(classOf(y))];
    return first && second ? [{ slo, ends: [first, second] as const }] : [];
  });
  const over = planned ? priorities(named, [...ways.keys()]) : new Map<string, ReadonlySet<string>>();
  return named.map((each) => ({ ...each, ways, over, isPlanned: planned }));
}

/** Sample keys that an objective is judged by. */
export function keysOf({ ways }: Pick<ClassObjective, 'ways'>): string[] {
  const of = ({ plus, minus }: Count) => [...plus, ...minus];
  return [...ways.values()].flatMap(({ points, tasks }) => [
    ...points.flatMap(({ taken, served, passed }) => [taken, served, passed].flatMap(of)),
    ...tasks.flatMap(({ cpu, queue, nfs }) => [
      ...[cpu, queue.waiting, queue.drops, ...of(queue.taken), ...of(queue.served)],
      ...nfs.map((nf) => nf.cpu),
    ]),
  ]);
}

function waysOf(plan: Plan, chainId: string, chainName: string): Map<string, ClassWay> {
  const own = plan.graph.nodes.filter(({ chain_id }) => chain_id === chainId);
  const nfs = new Map(own.flatMap((node) => (node.kind === 'nf' ? [[node.node_id, node] as const] : [])));
  const queues = new Map(own.flatMap((node) => (node.kind === 'queue' ? [[node.id, node] as const] : [])));
  const entering = plan.graph.edges.filter(({ to, direction }) => direction === 'forward' && queues.has(to));
  const onEdge = grouped(entering, ({ pgraph_edge }) => pgraph_edge ?? '');
  const classes = plan.classes.filter(({ chain_id }) => chain_id === chainId);
  const nodesOf = classes.map(({ edges, nodes }) =>
    edges.flatMap((edge, i) => {
      const along = new Set((onEdge.get(`${chainName}.${edge}`) ?? []).map(({ to }) => to));
      const nf = nfs.get(nodes[i] ?? '');
      return [...[...along].map((id) => queues.get(id)!), ...(nf ? [nf] : [])];
    }),
  );
  const passing = new Map<string, Set<string>>();
  classes.forEach(({ id }, c) => {
    for (const node of nodesOf[c]!) passing.set(node.id, (passing.get(node.id) ?? new Set()).add(id));
  });
  const points = new Map<string, Point & { readonly node: Instance | QueueNode }>();
  for (const node of nodesOf.flat()) points.set(node.id, pointOf(node, passing.get(node.id)!));
  const tasks = tasksOf(
    plan,
    nodesOf.map((nodes) => nodes.map(({ id }) => points.get(id)!)),
  );
  return new Map(
    classes.map(({ id }, c) => {
      const way = nodesOf[c]!.map((node) => points.get(node.id)!);
      return [id, { id, points: way, tasks: way.flatMap((point) => tasks.get(point.id) ?? []) }];
    }),
  );
}

function pointOf(node: Instance | QueueNode, classes: ReadonlySet<string>) {
  const { id, kind } = node;
  return { id, kind, hasQueue: kind === 'queue', counts: true, node, classes, ...packetsAt(kind, [id]) };
}

type PlannedPoint = ReturnType<typeof pointOf>;

/** Every queue with what runs in its task: the NFs behind it, up to the next queue of each way. */
function tasksOf(plan: Plan, ways: readonly (readonly PlannedPoint[])[]): Map<string, Task> {
  const members = new Map<string, { readonly queue: PlannedPoint; readonly nfs: Set<PlannedPoint> }>();
  for (const way of ways) {
    let at: string | null = null;
    for (const point of way) {
      if (point.kind === 'queue') {
        at = point.id;
        if (!members.has(at)) members.set(at, { queue: point, nfs: new Set() });
      } else if (at !== null) members.get(at)!.nfs.add(point);
    }
  }
  return new Map(
    [...members].map(([id, { queue, nfs }]): [string, Task] => {
      const { server, core } = queue.node;
      const tree = plan.nodes[server]?.schedulers?.find((it) => it.core === core)?.tree ?? [];
      const leaf = tree.find((node) => node.kind === 'task' && node.starts_at === id)?.id ?? '';
      const of = (metric: 'waiting' | 'drops_pps') => sampleKey('module', id, metric);
      const { classes, taken, served } = queue;
      const task: Task = {
        queue: {
          id,
          title: `queue ${id}`,
          ...{ server, core, classes, taken, served },
          waiting: of('waiting'),
          drops: of('drops_pps'),
        },
        nfs: [...nfs].map((point) => ({ point, cpu: sampleKey('instance', point.id, 'cpu') })),
        cpu: sampleKey('scheduler', `${server} ${core} ${leaf}`, 'cpu'),
        unknownCpu: null,
      };
      return [id, task];
    }),
  );
}

/** Classes over each class: those that an objective sets above it, or above one to which ratios tie it. */
function priorities(
  objectives: readonly Pick<ClassObjective, 'slo' | 'ends'>[],
  ids: readonly string[],
): Map<string, Set<string>> {
  const over = new Map(ids.map((id) => [id, new Set<string>()]));
  for (let grown = true; grown; ) {
    grown = false;
    const add = (id: string, above: Iterable<string>) => {
      const known = over.get(id)!;
      const before = known.size;
      for (const each of above) known.add(each);
      grown ||= known.size > before;
    };
    for (const { slo, ends } of objectives) {
      const [x, y] = [ends[0].id, ends[1].id];
      if (slo.kind === 'priority') add(y, [x, ...over.get(x)!]);
      else {
        add(x, over.get(y)!);
        add(y, over.get(x)!);
      }
    }
  }
  return over;
}
