import type {
  Infrastructure,
  NfDescriptor,
  Plan,
  PlannedPipeline,
  Quality,
  ScheduleForm,
  SchedulingMode,
  SchedulingStrategy,
} from '@orrery/contract';
import { pgraphNodeId } from '../igraph/pgraph.js';
import { cyclesPerPacket, packetRate } from '../igraph/sizing.js';
import { indexDescriptors } from '../pipeline/attributes.js';
import { costOfWork, formsOf } from '../pipeline/forms.js';
import { type Path, pathsOf } from '../pipeline/paths.js';
import { coreKey, coreUse } from '../slo/placed.js';
import { planSchedule } from './plan-schedule.js';
import type { Schedule, ScheduleProblem } from './problem.js';
import { flattenTree } from './scheduler-tree.js';

/** What the engine spends on a packet at an output before the next module or port sees it (docs/benchmarks.md, engine). */
const GATE_CYCLES = 10;
/** To put a packet into a queue and fetch it again, with the cache misses that it costs (DPDK ring, a batch of 32). */
const QUEUE_CYCLES = 40;
/** To tell the class of a packet at its source by its header. */
const CLASSIFIER_CYCLES = 60;
/** Of a core that other pipelines have booked. */
const LEAST_SHARE = 0.05;
/** Ways to cut that are tried. */
export const SCHEDULE_STEPS = 20_000;

interface ScheduleInput {
  readonly pipelines: readonly PlannedPipeline[];
  readonly descriptors: readonly NfDescriptor[];
  readonly infrastructure: Infrastructure;
  readonly instances: Plan['instances'];
  readonly rateOf: (pipeline: PlannedPipeline, path: Path) => number;
  readonly strategy: SchedulingStrategy;
  readonly mode: SchedulingMode;
  readonly expired?: () => boolean;
}

/** The problem of a pipeline with the names of what its indices stand for. */
interface NamedScheduleProblem {
  readonly problem: ScheduleProblem;
  readonly paths: readonly Path[];
  readonly slos: readonly string[];
}

/**
 * Tasks and scheduler of a pipeline, as one dataflow graph on the cores that its instances have; `null` for a pipeline
 * without traffic. Errors: `BadProblem` for too large a graph.
 */
export function scheduleForm(
  input: ScheduleInput,
  pipeline: PlannedPipeline,
): { form: ScheduleForm; quality: Quality[] } | null {
  const named = scheduleProblem(input, pipeline);
  if (!named) return null;
  const { strategy, mode, expired } = input;
  const schedule = planSchedule(named.problem, { strategy, mode, budget: { steps: SCHEDULE_STEPS, expired } });
  const form = formOf(pipeline, named, schedule);
  return { form, quality: schedule.feasible ? [qualityOf(pipeline, schedule)] : [] };
}

/** `null` for a pipeline without traffic, or with more classes than are told apart. */
export function scheduleProblem(input: ScheduleInput, pipeline: PlannedPipeline): NamedScheduleProblem | null {
  const { definition, pipeline_id } = pipeline;
  const paths = (pathsOf(definition) ?? []).filter((path) => path.nodes.length > 0 && input.rateOf(pipeline, path) > 0);
  const own = input.instances.filter((instance) => instance.pipeline_id === pipeline_id);
  if (paths.length === 0 || own.length === 0) return null;
  const catalogue = indexDescriptors(input.descriptors);
  const bytes = definition.traffic_class.packet_bytes;
  const used = new Set(paths.flatMap(({ nodes }) => nodes));
  const nfs = definition.nodes.flatMap((node) => (node.kind === 'nf' && used.has(node.id) ? [node] : []));
  const gates = definition.edges.filter(({ id }) => paths.some(({ edges }) => edges.includes(id)));
  const forms = formsOf(own);
  const costOf = (id: string, nf: string) => costOfWork(forms, pgraphNodeId(definition.name, id), catalogue.get(nf)!);
  const modules = [
    ...nfs.map(({ id, nf }) => ({
      id,
      cycles_per_packet: cyclesPerPacket(costOf(id, nf), bytes),
    })),
    ...gates.map(({ id }) => ({ id: `output ${id}`, cycles_per_packet: GATE_CYCLES })),
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
    rate_pps: packetRate(input.rateOf(pipeline, path), bytes),
  }));
  const joins = new Map(
    classes.flatMap(({ path }) => path.slice(1).map((to, i) => [`${path[i]} ${to}`, { from: path[i]!, to }] as const)),
  );
  const ghz = new Map(input.infrastructure.servers.map((server) => [server.id, server.ghz]));
  const use = coreUse(input.instances.filter((it) => it.pipeline_id !== pipeline_id));
  const cores = [...new Map(own.map((it) => [coreKey(it), ghz.get(it.server)! * 1e9])).entries()];
  const free = cores.map(([core, hz]) => hz * Math.max(LEAST_SHARE, 1 - (use.get(core) ?? 0)));
  const { slos, names } = slosOf(definition, paths);
  const problem: ScheduleProblem = {
    modules,
    edges: [...joins.values()],
    classes,
    slos,
    workers: {
      count: cores.length,
      cycles_per_second: free.reduce((sum, hz) => sum + hz, 0) / free.length,
      sharing: 'replicate',
    },
    costs: { queue_cycles_per_packet: QUEUE_CYCLES, classifier_cycles_per_packet: CLASSIFIER_CYCLES },
  };
  return { problem, paths, slos: names };
}

/** Objectives whose two classes carry traffic. */
function slosOf({ class_slos }: PlannedPipeline['definition'], paths: readonly Path[]) {
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
  { pipeline_id }: PlannedPipeline,
  { problem, paths, slos }: NamedScheduleProblem,
  schedule: Schedule,
): ScheduleForm {
  const { strategy, mode } = schedule;
  const classId = (c: number) => paths[c]!.id;
  const moduleId = (m: number) => (m < 0 ? 'classifier' : problem.modules[m]!.id);
  const replicated = problem.workers.sharing === 'replicate';
  const common = { pipeline_id, strategy, mode, workers: problem.workers.count, replicated };
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

function qualityOf({ pipeline_id }: PlannedPipeline, { bound }: Extract<Schedule, { feasible: true }>): Quality {
  return {
    part: 'scheduling',
    subject: pipeline_id,
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
