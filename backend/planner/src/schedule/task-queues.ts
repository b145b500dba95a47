import { type Infrastructure, type InstanceGraph, nfInstances, type PlannedChain } from '@orrery/contract';
import { pathsOf } from '../check/paths.js';
import { QUEUE } from '../engine-costs.js';
import { grouped } from '../grouped.js';
import type { QueueOnEdge } from '../igraph/queues.js';
import { cyclesPerPacket, packetRate } from '../igraph/sizing.js';
import type { Schedule } from './problem.js';
import type { ChainSchedule } from './schedule-forms.js';

type Feasible = Extract<Schedule, { feasible: true }>;

/** A schedule that servers carry out. */
export interface PlannedSchedule extends ChainSchedule {
  readonly schedule: Feasible;
  readonly queues: readonly QueueOnEdge[];
  /** Queue of each task. */
  readonly queueOf: readonly string[];
}

/** A schedule that queues in the graph cannot hold. */
export interface Unschedulable {
  readonly because: string;
}

/** The module that tells classes apart at the source, in the strategy `manual`. */
const CLASSIFIER = -1;
/** Within this, two tasks let the same part of their packets through. */
const ALIKE = 1e-6;

/** Why no schedule of the chain can be carried out as its instances stand; `null`: it can. */
export function obstacleTo({ chain_id, definition }: PlannedChain, graph: InstanceGraph): string | null {
  const own = graph.nodes.filter((node) => node.chain_id === chain_id);
  const instances = nfInstances({ nodes: own });
  if (own.some(({ kind }) => kind === 'mirror')) return 'A chain that runs in parallel has no planned schedule.';
  const several = instances.find(({ ordinal }) => ordinal > 0);
  if (several) return `NF ${several.node_id} has several instances: their cores cannot share one schedule.`;
  const beside = instances.find(({ driver }) => driver !== 'engine');
  if (beside) return `NF ${beside.node_id} runs outside the engine, which cannot schedule it.`;
  const reply = graph.edges.find(({ chain_id: of, direction }) => of === chain_id && direction === 'return');
  if (reply) return 'Replies pass an NF of the chain, and no objective says when they are served.';
  if (pathsOf(definition) === null) return 'The chain has too many paths to tell them apart.';
  return null;
}

/** Where the tasks of the schedule begin in the graph. Precondition: there is no obstacle. */
export function queuesOf(
  found: ChainSchedule & { readonly schedule: Feasible },
  graph: InstanceGraph,
  { servers }: Pick<Infrastructure, 'servers'>,
): PlannedSchedule | Unschedulable {
  const { schedule, chain, problem, cores, paths } = found;
  const { name, edges: drawn, traffic_class } = chain.definition;
  const forward = graph.edges.filter(({ direction }) => direction === 'forward');
  const byEdge = grouped(forward, ({ pgraph_edge }) => pgraph_edge ?? '');
  const idle = drawn.find(({ id }) => byEdge.has(`${name}.${id}`) && !paths.some(({ edges }) => edges.includes(id)));
  if (idle)
    return { because: `No traffic is expected on edge ${idle.id}: a schedule needs an estimate of every path.` };
  if (schedule.tasks.some(({ modules }) => modules.includes(CLASSIFIER)))
    return { because: 'The strategy needs a classifier before the first NF, which servers do not have.' };
  const ghz = new Map(servers.map((server) => [server.id, server.ghz]));
  const queueOf = schedule.tasks.map(() => '');
  const queues: QueueOnEdge[] = [];
  for (const { edge, beforeNf, module, tasks } of startsOf(found)) {
    if (tasks.length < waysTo(found, edge) || !tasks.every((task) => isServedAs(found, task, tasks[0]!)))
      return { because: `Classes that edge ${edge} carries together would have to be served differently behind it.` };
    const pgraph_edge = `${name}.${edge}`;
    const id = `${pgraph_edge}.queue${beforeNf ? '-nf' : ''}`;
    for (const task of tasks) queueOf[task] = id;
    const place = cores[problem.workers.placed!.worker[module]!]!;
    const load_bps = byEdge.get(pgraph_edge)!.reduce((sum, { rate_bps }) => sum + rate_bps, 0);
    const { packet_bytes } = traffic_class;
    const cycles = packetRate(load_bps, packet_bytes) * cyclesPerPacket(QUEUE, packet_bytes);
    const core_share = cycles / (ghz.get(place.server)! * 1e9);
    const names = tasks.map((task) => schedule.tasks[task]!.id);
    const node = { kind: 'queue', id, chain_id: chain.chain_id, tasks: names, ...place, load_bps, core_share } as const;
    queues.push({ pgraph_edge, node });
  }
  return { ...found, queues, queueOf };
}

/** Where tasks begin: at the output that leads along an edge of the chain, or behind it at the NF. */
interface Start {
  readonly edge: string;
  readonly beforeNf: boolean;
  readonly module: number;
  readonly tasks: readonly number[];
}

/** In the order in which packets meet them on an edge. */
function startsOf({ schedule, edge }: ChainSchedule & { readonly schedule: Feasible }): Start[] {
  const entered = new Map(schedule.queues.map(({ task, from_module }) => [task, from_module]));
  const each = schedule.tasks.map(({ modules }, task) => {
    const module = modules[0]!;
    const beforeNf = edge[module] === null;
    return { edge: edge[beforeNf ? entered.get(task)! : module]!, beforeNf, module, task };
  });
  return [...grouped(each, (start) => `${start.edge} ${start.beforeNf}`).values()]
    .map((members) => ({ ...members[0]!, tasks: members.map(({ task }) => task) }))
    .sort((a, b) => Number(a.beforeNf) - Number(b.beforeNf));
}

/** Ways from the source over the edge: without a queue on all of them there is none on the edge. */
function waysTo({ problem, edge }: ChainSchedule, id: string): number {
  const output = edge.indexOf(id);
  const passing = problem.classes.filter(({ path }) => path.includes(output));
  return new Set(passing.map(({ path }) => path.slice(0, path.indexOf(output)).join())).size;
}

/** One queue can hold both tasks: of each the same part gets there, and the same part is to get through. */
function isServedAs(
  { schedule, problem }: ChainSchedule & { readonly schedule: Feasible },
  a: number,
  b: number,
): boolean {
  const served = (task: number): number => {
    const offered = schedule.tasks[task]!.classes.reduce((sum, c) => sum + problem.classes[c]!.rate_pps, 0);
    return schedule.prediction.tasks[task]!.packets_per_second / offered;
  };
  const alike = (x: number, y: number) => Math.abs(served(x) - served(y)) <= ALIKE;
  const [first, second] = [schedule.tasks[a]!, schedule.tasks[b]!];
  const before = first.upstream === null || second.upstream === null || alike(first.upstream, second.upstream);
  return first.level === second.level && before && alike(a, b);
}
