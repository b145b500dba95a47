import { type ClassSlo, type GraphNode, isPlanned, type Plan, type QueueNode, sampleKey } from '@orrery/contract';
import { grouped } from '@orrery/planner';

/** A node that a class passes, with the samples that count its packets. */
export interface Point {
  readonly id: string;
  readonly node: Extract<GraphNode, { kind: 'nf' | 'queue' }>;
  /** Of the chain's classes, those that pass it. */
  readonly classes: ReadonlySet<string>;
  readonly taken: string;
  readonly passed: string;
}

/** A task of a planned schedule, from its queue to the next ones. */
export interface Task {
  readonly queue: Point & { readonly node: QueueNode };
  readonly nfs: readonly Point[];
  /** Share of its core that it used. */
  readonly cpu: string;
}

/** The way of one class of packets through the tasks of a chain. */
export interface ClassWay {
  readonly id: string;
  readonly points: readonly Point[];
  readonly tasks: readonly Task[];
}

/** An objective between two classes, and the ways of all classes of its chain. */
export interface ClassObjective {
  readonly slo: ClassSlo;
  /** `a` and `b`, or `above` and `below`. */
  readonly ends: readonly [ClassWay, ClassWay];
  readonly ways: ReadonlyMap<string, ClassWay>;
  /** Classes that have priority over each class. */
  readonly over: ReadonlyMap<string, ReadonlySet<string>>;
}

/** The objectives between classes that a planned schedule carries out; none for a chain whose cores serve in turn. */
export function classObjectives(plan: Plan, chainId: string): ClassObjective[] {
  const chain = plan.chains.find(({ chain_id }) => chain_id === chainId);
  if (!chain || !isPlanned(chain.schedule)) return [];
  const { class_slos } = chain.definition;
  const ways = waysOf(plan, chainId, chain.definition.name);
  const classOf = (edge: string) =>
    plan.classes.find(({ chain_id, edges }) => chain_id === chainId && edges.includes(edge))?.id ?? '';
  const named = class_slos.flatMap((slo) => {
    const [x, y] = slo.kind === 'priority' ? [slo.above, slo.below] : [slo.a, slo.b];
    const [first, second] = [ways.get(classOf(x)), ways.get(classOf(y))];
    return first && second ? [{ slo, ends: [first, second] as const }] : [];
  });
  const over = priorities(named, [...ways.keys()]);
  return named.map((each) => ({ ...each, ways, over }));
}

/** Sample keys that an objective is judged by. */
export function keysOf({ ways }: Pick<ClassObjective, 'ways'>): string[] {
  return [...ways.values()].flatMap(({ points, tasks }) => [
    ...points.flatMap(({ node, taken, passed }) => [
      taken,
      passed,
      node.kind === 'nf' ? sampleKey('instance', node.id, 'cpu') : dropsKey(node.id),
    ]),
    ...tasks.flatMap(({ cpu, queue }) => [cpu, waitingKey(queue.id)]),
  ]);
}

export const waitingKey = (queue: string) => sampleKey('module', queue, 'waiting');
export const dropsKey = (queue: string) => sampleKey('module', queue, 'drops_pps');

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
  const points = new Map<string, Point>();
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

function pointOf(node: Point['node'], classes: ReadonlySet<string>): Point {
  const { id, kind } = node;
  const key = (metric: 'pps' | 'out_pps') =>
    kind === 'nf' ? sampleKey('instance', id, metric) : sampleKey('module', id, metric);
  return { id, node, classes, taken: key('pps'), passed: key('out_pps') };
}

/** Every queue with what runs in its task: the NFs behind it, up to the next queue of each way. */
function tasksOf(plan: Plan, ways: readonly (readonly Point[])[]): Map<string, Task> {
  const members = new Map<string, { readonly queue: Task['queue']; readonly nfs: Set<Point> }>();
  for (const way of ways) {
    let at: string | null = null;
    for (const point of way) {
      const { node } = point;
      if (node.kind === 'queue') {
        at = point.id;
        if (!members.has(at)) members.set(at, { queue: { ...point, node }, nfs: new Set() });
      } else if (at !== null) members.get(at)!.nfs.add(point);
    }
  }
  return new Map(
    [...members].map(([id, { queue, nfs }]) => {
      const { server, core } = queue.node;
      const tree = plan.nodes[server]?.schedulers?.find((it) => it.core === core)?.tree ?? [];
      const leaf = tree.find((node) => node.kind === 'task' && node.starts_at === id)?.id ?? '';
      return [id, { queue, nfs: [...nfs], cpu: sampleKey('scheduler', `${server} ${core} ${leaf}`, 'cpu') }];
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
