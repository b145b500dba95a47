import {
  type Infrastructure,
  type Instance,
  isAtSwitch,
  type NfDescriptor,
  nfInstances,
  type Plan,
  type PlannedChain,
  type Quality,
  type ScheduleForm,
  type SchedulingMode,
  type SchedulingStrategy,
} from '@orrery/contract';
import { costOfWork, implementationsOf } from '../check/assigned-implementation.js';
import { indexDescriptors } from '../check/attributes.js';
import { configuredNf } from '../check/configured-nf.js';
import { type Path, pathsOf } from '../check/paths.js';
import { CLASSIFIER, GATE, QUEUE } from '../engine-costs.js';
import { pgraphNodeId } from '../igraph/pgraph.js';
import { cyclesPerPacket, packetRate } from '../igraph/sizing.js';
import { reassemblies } from '../slo/instance-cost.js';
import { coreKey, coreUse } from '../slo/placed.js';
import { costSum, REASSEMBLY } from '../stream-costs.js';
import { planSchedule } from './plan-schedule.js';
import type { Schedule, ScheduleProblem } from './problem.js';
import { flattenTree } from './scheduler-tree.js';

/** Of a core that other chains have booked. */
const LEAST_SHARE = 0.05;
/** Maximum number of cuts that are tried. */
export const SCHEDULE_STEPS = 20_000;

interface ScheduleInput {
  readonly chains: readonly PlannedChain[];
  readonly descriptors: readonly NfDescriptor[];
  readonly infrastructure: Infrastructure;
  readonly graph: Plan['graph'];
  readonly rateOf: (chain: PlannedChain, path: Path) => number;
  readonly strategy: SchedulingStrategy;
  readonly mode: SchedulingMode;
  readonly expired?: () => boolean;
}

/** The problem of a chain with the names of what its indices stand for. */
interface NamedScheduleProblem {
  readonly problem: ScheduleProblem;
  readonly paths: readonly Path[];
  readonly slos: readonly string[];
  /** The edge of the chain whose output each module is; `null` for an NF. */
  readonly edge: readonly (string | null)[];
  /** Of each worker; empty where workers are replicated. */
  readonly cores: readonly Core[];
}

export interface Core {
  readonly server: string;
  readonly core: number;
}

/** How the cores of a chain share their time among its tasks: what the Plan page shows and what servers are told. */
export interface ChainSchedule extends NamedScheduleProblem {
  readonly chain: PlannedChain;
  readonly schedule: Schedule;
}

/**
 * Tasks and scheduler of a chain, as one dataflow graph on the cores that its instances have; `null` for a chain
 * without traffic. Errors: `BadProblem` for too large a graph.
 */
export function scheduleChain(input: ScheduleInput, chain: PlannedChain): ChainSchedule | null {
  const named = scheduleProblem(input, chain);
  if (!named) return null;
  const { strategy, mode, expired } = input;
  const schedule = planSchedule(named.problem, { strategy, mode, budget: { steps: SCHEDULE_STEPS, expired } });
  return { ...named, chain, schedule };
}

/** The schedule as a plan presents it. */
export function scheduleForm({ chain, schedule, ...named }: ChainSchedule): {
  form: ScheduleForm;
  quality: Quality[];
} {
  const form = formOf(chain, named, schedule);
  return { form, quality: schedule.feasible ? [qualityOf(chain, schedule)] : [] };
}

/** `null` for a chain without traffic, with more classes than are told apart, or with an NF that no core works for. */
export function scheduleProblem(input: ScheduleInput, chain: PlannedChain): NamedScheduleProblem | null {
  const { definition, chain_id } = chain;
  const paths = (pathsOf(definition) ?? []).filter((path) => path.nodes.length > 0 && input.rateOf(chain, path) > 0);
  const own = nfInstances(input.graph).filter((instance) => instance.chain_id === chain_id);
  if (paths.length === 0 || own.length === 0 || own.some(isAtSwitch)) return null;
  const catalogue = indexDescriptors(input.descriptors);
  const bytes = definition.traffic_class.packet_bytes;
  const used = new Set(paths.flatMap(({ nodes }) => nodes));
  const nfs = definition.nodes.flatMap((node) => (node.kind === 'nf' && used.has(node.id) ? [node] : []));
  const gates = definition.edges.filter(({ id }) => paths.some(({ edges }) => edges.includes(id)));
  const implementations = implementationsOf(own);
  const places = reassemblies(input.graph, input.descriptors);
  const reassembling = new Set(own.flatMap(({ id, node_id }) => (places.has(id) ? [node_id] : [])));
  const costOf = (id: string, nf: string) => {
    const described = configuredNf(catalogue.get(nf)!, definition, id);
    const cost = costOfWork(implementations, pgraphNodeId(definition.name, id), described);
    return reassembling.has(id) ? costSum(cost, REASSEMBLY) : cost;
  };
  const modules = [
    ...nfs.map(({ id, nf }) => ({
      id,
      cycles_per_packet: cyclesPerPacket(costOf(id, nf), bytes),
    })),
    ...gates.map(({ id }) => ({ id: `output ${id}`, cycles_per_packet: cyclesPerPacket(GATE, bytes) })),
  ];
  const nfIndex = new Map(nfs.map(({ id }, i) => [id, i]));
  const gateIndex = new Map(gates.map(({ id }, i) => [id, nfs.length + i]));
  const pathModules = (path: Path) => {
    const inside = path.edges.slice(1).map((edge) => gateIndex.get(edge)!);
    return path.nodes.flatMap((node, i) => [nfIndex.get(node)!, inside[i]!]);
  };
  const classes = paths.map((path) => ({
    id: path.id,
    path: [gateIndex.get(path.edges[0]!)!, ...pathModules(path)],
    rate_pps: packetRate(input.rateOf(chain, path), bytes),
  }));
  const joins = new Map(
    classes.flatMap(({ path }) => path.slice(1).map((to, i) => [`${path[i]} ${to}`, { from: path[i]!, to }] as const)),
  );
  const { slos, names } = slosOf(definition, paths);
  const { cores, free } = coresOf(input, own);
  const workers = {
    count: cores.length,
    cycles_per_second: free.reduce((sum, cycles) => sum + cycles, 0) / free.length,
  };
  const costs = {
    queue_cycles_per_packet: cyclesPerPacket(QUEUE, bytes),
    classifier_cycles_per_packet: cyclesPerPacket(CLASSIFIER, bytes),
  };
  const problem = { modules, edges: [...joins.values()], classes, slos, costs };
  const named = { paths, slos: names, edge: [...nfs.map(() => null), ...gates.map(({ id }) => id)] };
  const workerOf = onePlaceEach(own, nfs, cores);
  if (!workerOf) return { ...named, problem: { ...problem, workers: { ...workers, sharing: 'replicate' } }, cores: [] };
  /** An output runs where packets go along it. */
  const ends = gates.map(({ from, to }) => ({ from: workerOf.get(from), to: workerOf.get(to) ?? workerOf.get(from)! }));
  const crosses = [...nfs.map(() => false), ...ends.map(({ from, to }) => from !== undefined && from !== to)];
  const worker = [...nfs.map(({ id }) => workerOf.get(id)!), ...ends.map(({ to }) => to)];
  return {
    ...named,
    problem: {
      ...problem,
      modules: modules.map((module, i) => (crosses[i] ? { ...module, schedulable: true } : module)),
      workers: { ...workers, sharing: 'split', placed: { worker, cycles_per_second: free } },
    },
    cores,
  };
}

/** The cores of the chain's instances, with the cycles per second that other chains leave of each. */
function coresOf(
  { graph, infrastructure }: ScheduleInput,
  own: readonly Instance[],
): { cores: Core[]; free: number[] } {
  const ghz = new Map(infrastructure.servers.map((server) => [server.id, server.ghz]));
  const others = graph.nodes.filter(({ chain_id, kind }) => chain_id !== own[0]!.chain_id && kind !== 'queue');
  const use = coreUse({ nodes: others });
  const cores = [...new Map(own.map(({ server, core }) => [coreKey({ server, core }), { server, core }])).values()];
  const free = cores.map((it) => ghz.get(it.server)! * 1e9 * Math.max(LEAST_SHARE, 1 - (use.get(coreKey(it)) ?? 0)));
  return { cores, free };
}

/** The worker of each NF where each has one instance; `null` where flows are split over several. */
function onePlaceEach(
  own: readonly Instance[],
  nfs: readonly { readonly id: string }[],
  cores: readonly Core[],
): Map<string, number> | null {
  const places = new Map<string, number>();
  for (const instance of own) {
    if (places.has(instance.node_id)) return null;
    places.set(
      instance.node_id,
      cores.findIndex((core) => coreKey(core) === coreKey(instance)),
    );
  }
  return nfs.every(({ id }) => places.has(id)) ? places : null;
}

/** Objectives whose two classes carry traffic. */
function slosOf({ class_slos }: PlannedChain['definition'], paths: readonly Path[]) {
  const slos: ScheduleProblem['slos'][number][] = [];
  const names: string[] = [];
  const classOf = (edge: string) => paths.findIndex(({ edges }) => edges.includes(edge));
  for (const slo of class_slos) {
    const [x, y] = slo.kind === 'priority' ? [slo.above, slo.below] : [slo.a, slo.b];
    const [a, b] = [classOf(x), classOf(y)];
    if (a < 0 || b < 0) continue;
    slos.push(
      slo.kind === 'priority' ? { kind: slo.kind, above: a, below: b } : { kind: slo.kind, a, b, ratio: slo.ratio },
    );
    names.push(slo.id);
  }
  return { slos, names };
}

function formOf(
  { chain_id }: PlannedChain,
  { problem, paths, slos, cores }: NamedScheduleProblem,
  schedule: Schedule,
): ScheduleForm {
  const { strategy, mode } = schedule;
  const classId = (c: number) => paths[c]!.id;
  const moduleId = (m: number) => (m < 0 ? 'classifier' : problem.modules[m]!.id);
  const replicated = problem.workers.sharing === 'replicate';
  const common = { chain_id, strategy, mode, workers: problem.workers.count, replicated, cores: [...cores] };
  if (!schedule.feasible) {
    const conflicts = schedule.conflicts.map(({ classes, modules, slos: tied, ...constraint }) => {
      const shared = namesOf(modules.map(moduleId));
      const where = `${classes.map(classId).join(' and ')} behind ${shared.join(', ')}`;
      return { ...constraint, where, classes: classes.map(classId), modules: shared, slos: tied.map((i) => slos[i]!) };
    });
    const nothing = { tasks: [], tree: [], objectives: [], throughput_pps: 0, idle_share: 0, slo_error: 0 };
    return { ...common, ...nothing, feasible: false, conflicts };
  }
  const { prediction } = schedule;
  const spent = prediction.useful_cycles_per_second + prediction.idle_cycles_per_second;
  return {
    ...common,
    feasible: true,
    conflicts: [],
    tasks: schedule.tasks.map(({ id, modules, classes }, i) => ({
      id,
      modules: namesOf(modules.map(moduleId)),
      classes: classes.map(classId),
      useful_cycles_per_second: prediction.tasks[i]!.useful_cycles_per_second,
      idle_cycles_per_second: prediction.tasks[i]!.idle_cycles_per_second,
      overhead_cycles_per_second: prediction.tasks[i]!.overhead_cycles_per_second,
    })),
    tree: flattenTree(replicated ? schedule.workers.slice(0, 1) : schedule.workers, (task) =>
      namesOf(schedule.tasks[task]!.modules.map(moduleId)).join(', '),
    ),
    objectives: prediction.slos.map(({ slo, wanted, predicted, met }) => ({
      slo_id: slos[slo]!,
      wanted,
      predicted,
      met,
    })),
    throughput_pps: prediction.throughput_pps,
    idle_share: spent > 0 ? Math.min(1, prediction.idle_cycles_per_second / spent) : 0,
    slo_error: prediction.slos.every(({ met }) => met) ? 0 : prediction.slo_error,
  };
}

/** NFs of a task, each once though several ways lead to it; its outputs only where it has nothing else. */
function namesOf(modules: readonly string[]): string[] {
  const nfs = modules.filter((id) => !id.startsWith('output '));
  return [...new Set(nfs.length > 0 ? nfs : modules)];
}

function qualityOf({ chain_id }: PlannedChain, { bound }: Extract<Schedule, { feasible: true }>): Quality {
  return {
    part: 'scheduling',
    subject: chain_id,
    objective: 'tasks',
    unit: 'tasks',
    value: bound.tasks,
    bound: bound.lower_bound,
    gap: bound.tasks > 0 ? bound.gap / bound.tasks : 0,
    optimal: bound.gap === 0,
    method: bound.method,
    proof: bound.proof,
  };
}
