import type { Plan } from '@orrery/contract';

/** Why a queue of a planned schedule overflows: what its core serves first, or the share that its task gets. */
export function whyFull({ graph, nodes, schedules, classes, chains }: Plan, queueId: string): string {
  const queue = graph.nodes.find(({ id }) => id === queueId);
  if (queue?.kind !== 'queue') return 'its task gets too little';
  const { server, core, chain_id, tasks } = queue;
  const where = `core ${core} of ${server}`;
  const tree = nodes[server]?.schedulers?.find((it) => it.core === core)?.tree ?? [];
  const form = schedules.find((it) => it.chain_id === chain_id);
  const served = new Set(form?.tasks.flatMap((task) => (tasks.includes(task.id) ? task.classes : [])));
  const classOf = (edge: string) => classes.find((it) => it.chain_id === chain_id && it.edges.includes(edge))?.id ?? '';
  const { class_slos = [] } = chains.find((it) => it.chain_id === chain_id)?.definition ?? {};
  const behind = class_slos.find((slo) => slo.kind === 'priority' && served.has(classOf(slo.below)));
  if (behind && comesLater(tree, queueId)) return `what has priority takes ${where}, as objective ${behind.id} asks`;
  return `its task gets too little of ${where}`;
}

type Tree = NonNullable<Plan['nodes'][string]['schedulers']>[number]['tree'];

/** Whether a priority policy serves others before the task that starts at a queue. */
function comesLater(tree: Tree, queueId: string): boolean {
  const byId = new Map(tree.map((node) => [node.id, node]));
  let at = tree.find((node) => node.kind === 'task' && node.starts_at === queueId);
  while (at && !((at.level ?? 0) > 0)) at = at.parent === null ? undefined : byId.get(at.parent);
  return at !== undefined;
}
