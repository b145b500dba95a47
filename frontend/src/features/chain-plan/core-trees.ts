import type { GraphNode, Infrastructure, Plan, ScheduleForm, SchedulerNode } from '@orrery/contract';
import { sampleKey } from '@orrery/contract/sample-keys';

/** A task or a policy of the scheduler tree that a core runs. */
export interface CoreTreeRow {
  readonly id: string;
  readonly kind: SchedulerNode['kind'];
  /** What a task carries packets through, or what a policy does. */
  readonly label: string;
  /** Ids of the traffic classes of a task; empty of a policy, and of an instance that is served for all of them. */
  readonly classes: readonly string[];
  /** Below how many policies it is. */
  readonly depth: number;
  /** Share of its parent's time by weight; null: weights do not count. */
  readonly share: number | null;
  /** 0 is served first; null: levels do not count. */
  readonly level: number | null;
  /** CPU time that it is planned to take, share of the core. */
  readonly planned: number;
  /** Of another chain on the same core. */
  readonly isForeign: boolean;
}

export interface CoreTree {
  readonly server: string;
  readonly core: number;
  readonly rows: readonly CoreTreeRow[];
}

type Node = SchedulerNode;
const POLICY_NAMES: Readonly<Record<Exclude<Node['kind'], 'task'>, string>> = {
  'round-robin': 'in turn',
  priority: 'by priority',
  'weighted-fair': 'by weight',
  'rate-limit': 'limited rate',
};

/** Subject of the samples of a row. */
export function coreTreeKey(
  { server, core }: Pick<CoreTree, 'server' | 'core'>,
  { id }: Pick<CoreTreeRow, 'id'>,
  metric: 'cpu' | 'pps' | 'bps' | 'polling',
): string {
  return sampleKey('scheduler', `${server} ${core} ${id}`, metric);
}

/** The scheduler trees of the cores on which the chain runs, from the root down in the order of service. */
export function coreTrees(
  plan: Pick<Plan, 'graph' | 'nodes' | 'schedules'>,
  chainId: string,
  infrastructure: Pick<Infrastructure, 'servers'> | null,
): CoreTree[] {
  const byId = new Map(plan.graph.nodes.map((node) => [node.id, node]));
  const own = new Set(
    plan.graph.nodes.flatMap((node) =>
      node.kind !== 'exit' && node.chain_id === chainId ? [`${node.server} ${node.core}`] : [],
    ),
  );
  return Object.entries(plan.nodes).flatMap(([server, { schedulers = [] }]) => {
    const hz = (infrastructure?.servers.find(({ id }) => id === server)?.ghz ?? 0) * 1e9;
    return schedulers
      .filter(({ core }) => own.has(`${server} ${core}`))
      .toSorted((a, b) => a.core - b.core)
      .map(({ core, tree }): CoreTree => {
        const task = (node: GraphNode | undefined) => plannedTask(node, plan.schedules, hz);
        return { server, core, rows: rowsOf(tree, chainId, byId, task) };
      });
  });
}

type PlannedTask = { readonly label: string; readonly share: number; readonly classes: readonly string[] };

/** What a task carries packets through, and the share of the core that it is planned to take. */
function plannedTask(node: GraphNode | undefined, schedules: readonly ScheduleForm[], hz: number): PlannedTask {
  if (!node || node.kind === 'exit') return { label: '', share: 0, classes: [] };
  if (node.kind !== 'queue') return { label: node.id, share: node.core_share, classes: [] };
  const schedule = schedules.find(({ chain_id }) => chain_id === node.chain_id);
  const tasks = (schedule?.tasks ?? []).filter(({ id }) => node.tasks.includes(id));
  const cycles = tasks.reduce(
    (sum, task) => sum + task.useful_cycles_per_second + task.idle_cycles_per_second + task.overhead_cycles_per_second,
    0,
  );
  const modules = [...new Set(tasks.flatMap((task) => task.modules))];
  const classes = [...new Set(tasks.flatMap((task) => task.classes))];
  return { label: modules.join(', ') || node.id, share: hz > 0 ? cycles / hz : 0, classes };
}

function rowsOf(
  tree: readonly Node[],
  chainId: string,
  byId: ReadonlyMap<string, GraphNode>,
  taskOf: (node: GraphNode | undefined) => PlannedTask,
): CoreTreeRow[] {
  const below = (parent: string | null) => tree.filter((node) => node.parent === parent);
  const visit = (node: Node, depth: number): CoreTreeRow[] => {
    const siblings = below(node.parent);
    const weights = siblings.reduce((sum, { weight }) => sum + (weight ?? 0), 0);
    const place = {
      id: node.id,
      kind: node.kind,
      depth,
      level: node.level,
      share: node.weight !== null && weights > 0 ? node.weight / weights : null,
    };
    if (node.kind === 'task') {
      const start = byId.get(node.starts_at);
      const { label, share, classes } = taskOf(start);
      const isForeign = start !== undefined && start.chain_id !== chainId;
      return [{ ...place, label: label || node.starts_at, planned: share, classes, isForeign }];
    }
    const children = below(node.id)
      .toSorted((a, b) => (a.level ?? 0) - (b.level ?? 0))
      .map((child) => visit(child, depth + 1));
    const roots = children.map(([first]) => first!);
    const planned = roots.reduce((sum, child) => sum + child.planned, 0);
    const isForeign = roots.length > 0 && roots.every((child) => child.isForeign);
    return [{ ...place, label: policyText(node), planned, classes: [], isForeign }, ...children.flat()];
  };
  return below(null).flatMap((root) => visit(root, 0));
}

function policyText(node: Exclude<Node, { kind: 'task' }>): string {
  const name = POLICY_NAMES[node.kind];
  if (node.kind === 'rate-limit' && node.resource === 'core-time')
    return `${name}, at most ${Math.round(100 * node.per_second)} % of the core`;
  return node.kind === 'weighted-fair' && node.when_idle === 'poll' ? `${name}, polls when idle` : name;
}
