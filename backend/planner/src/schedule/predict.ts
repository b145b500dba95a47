import { type Execution, type Flow, settle } from './fluid.js';
import type { Layout } from './layout.js';
import type { Prediction, ScheduleProblem, Slo, SloPrediction } from './problem.js';

/** Relative error within which a ratio counts as met. */
const TOLERANCE = 0.01;
/** Share of what a class offers above which all of it counts as served. */
const ALL = 1 - 1e-6;

/** Predicted state of classes, tasks and SLOs when a layout runs. */
export function predict(problem: ScheduleProblem, layout: Layout, execution: Execution): Prediction {
  const flow = settle(execution);
  const classes = classAccounts(problem, layout, execution, flow);
  const tasks = execution.tasks.map(({ work, overhead, rate_pps }, i) => {
    const [granted, useful] = [flow.granted[i]!, flow.useful[i]!];
    return {
      useful_cycles_per_second: useful * work,
      idle_cycles_per_second: (granted - useful) * (work + overhead),
      overhead_cycles_per_second: useful * overhead,
      packets_per_second: useful * rate_pps,
    };
  });
  const total = (of: (task: (typeof tasks)[number]) => number) => tasks.reduce((sum, task) => sum + of(task), 0);
  const useful = total((it) => it.useful_cycles_per_second);
  const idle = total((it) => it.idle_cycles_per_second);
  const overhead = total((it) => it.overhead_cycles_per_second);
  const { shares, usefulShares, targets } = sharesOf(layout, classes);
  const capacity = execution.available.reduce((sum, it) => sum + it, 0);
  return {
    classes: classes.map((it, c) => ({
      share: shares[c]!,
      share_target: targets[c]!,
      throughput_pps: it.throughput_pps,
      useful_cycles_per_second: it.useful,
      idle_cycles_per_second: it.granted - it.useful,
    })),
    tasks,
    slos: problem.slos.map((slo, i) => sloOutcome(problem, slo, i, classes)),
    throughput_pps: classes.reduce((sum, it) => sum + it.throughput_pps, 0),
    useful_cycles_per_second: useful,
    idle_cycles_per_second: idle,
    overhead_cycles_per_second: overhead,
    unused_cycles_per_second: Math.max(0, capacity - useful - idle - overhead),
    slo_error: distance(shares, targets),
    useful_slo_error: distance(usefulShares, targets),
  };
}

interface ClassAccount {
  readonly throughput_pps: number;
  /** Cycles per second on modules of all levels, and of the class's own. */
  readonly granted: number;
  readonly useful: number;
  readonly ownGranted: number;
  readonly ownUseful: number;
}

function classAccounts(
  problem: ScheduleProblem,
  { tree, nodeLevel, targets }: Layout,
  { tasks }: Execution,
  flow: Flow,
): ClassAccount[] {
  const taskAt = new Int32Array(tree.parent.length);
  tasks.forEach(({ nodes }, i) => {
    for (const v of nodes) taskAt[v] = i;
  });
  return problem.classes.map(({ rate_pps }, c) => {
    const sums = { granted: 0, useful: 0, ownGranted: 0, ownUseful: 0 };
    for (let v = tree.leaf[c]!; v >= 0; v = tree.parent[v]!) {
      if (tree.module[v] === -1) continue;
      const cycles = rate_pps * tree.cycles_per_packet[v]!;
      sums.granted += cycles * flow.granted[taskAt[v]!]!;
      sums.useful += cycles * flow.useful[taskAt[v]!]!;
      if (nodeLevel[v] !== targets.level[c]) continue;
      sums.ownGranted += cycles * flow.granted[taskAt[v]!]!;
      sums.ownUseful += cycles * flow.useful[taskAt[v]!]!;
    }
    return { ...sums, throughput_pps: rate_pps * flow.useful[taskAt[tree.leaf[c]!]!]! };
  });
}

/** Shares of what the classes get that are tied to each other; those of a group that gets nothing are 0. */
function sharesOf({ targets }: Layout, classes: readonly ClassAccount[]) {
  const byTime = (c: number) => targets.kind[targets.level[c]!] === 'cpu-time';
  const granted = classes.map((it, c) => (byTime(c) ? it.ownGranted : it.throughput_pps));
  const useful = classes.map((it, c) => (byTime(c) ? it.ownUseful : it.throughput_pps));
  const within = (values: readonly number[]) => {
    const sums = new Float64Array(classes.length);
    values.forEach((value, c) => {
      sums[targets.group[c]!]! += value;
    });
    return values.map((value, c) => (sums[targets.group[c]!]! > 0 ? value / sums[targets.group[c]!]! : 0));
  };
  return { shares: within(granted), usefulShares: within(useful), targets: within([...targets.wanted]) };
}

function distance(a: readonly number[], b: readonly number[]): number {
  return a.reduce((sum, value, i) => sum + Math.abs(value - b[i]!), 0);
}

function sloOutcome(
  problem: ScheduleProblem,
  slo: Slo,
  index: number,
  classes: readonly ClassAccount[],
): SloPrediction {
  const served = (c: number) => classes[c]!.throughput_pps / problem.classes[c]!.rate_pps;
  if (slo.kind === 'priority') {
    const kept = served(slo.above) >= ALL || served(slo.below) <= 1 - ALL;
    return { slo: index, wanted: 1, predicted: kept ? 1 : 0, met: kept };
  }
  const value = (c: number) => (slo.kind === 'cpu-time' ? classes[c]!.ownGranted : classes[c]!.throughput_pps);
  const predicted = value(slo.b) > 0 ? value(slo.a) / value(slo.b) : null;
  const near = predicted !== null && Math.abs(predicted / slo.ratio - 1) <= TOLERANCE;
  return { slo: index, wanted: slo.ratio, predicted, met: near || (served(slo.a) >= ALL && served(slo.b) >= ALL) };
}
