import { constructServices } from './cpu-time.js';
import type { Allowance } from './enumerate.js';
import { atBestScale, obstacle } from './group-factors.js';
import { conflictsIn, fewestTasks, type Layout, settingOf } from './layout.js';
import type { Mode, ScheduleConflict, ScheduleProblem, StrategyName, TaskBound } from './problem.js';
import { countOf, headsOf, packetsPerCycle, type Region, type Service } from './region.js';
import { throughputServices } from './throughput.js';
import { childrenOf, classifiedTree, type Tree, unfold } from './tree.js';

export type Outcome = { readonly layout: Layout } | { readonly conflicts: readonly ScheduleConflict[] };

export type Strategy = (problem: ScheduleProblem, mode: Mode, left: Allowance) => Outcome;

export const STRATEGIES: Record<StrategyName, Strategy> = {
  alpine,
  'run-to-completion': runToCompletion,
  manual,
  'semi-manual': semiManual,
};

/** Queues where they help, as few as can be (Alpine 5.3). */
function alpine(problem: ScheduleProblem, mode: Mode, left: Allowance): Outcome {
  const setting = settingOf(problem, unfold(problem));
  const conflicts = mode === 'constrained' ? conflictsIn(problem, setting) : [];
  return conflicts.length > 0 ? { conflicts } : { layout: fewestTasks(setting, mode, left) };
}

/** No queues but those that are there; no say for SLOs (Alpine 5.5.2). */
function runToCompletion(problem: ScheduleProblem): Outcome {
  const { tree, nodeLevel, targets } = settingOf(problem, unfold(problem));
  const service = new Float64Array(tree.parent.length).fill(1);
  const bound = fixed(tree.forced, 'SLOs are ignored');
  return { layout: { tree, nodeLevel, targets, heads: tree.forced, service, bound, flat: true } };
}

/** A classifier at each source and a task for each class behind it (Alpine 5.2.2, Fig. 5.3b). */
function manual(problem: ScheduleProblem): Outcome {
  const cycles = problem.costs.classifier_cycles_per_packet;
  if (cycles === null) return { conflicts: [noClassifier(problem)] };
  const tree = classifiedTree(problem, cycles);
  const { nodeLevel, targets } = settingOf(problem, tree);
  const service = new Float64Array(tree.parent.length);
  const own = ownCycles(problem, tree, nodeLevel, targets.level);
  for (let v = service.length - 1; v >= 0; v--) {
    const c = tree.classAt[tree.first[v]!]!;
    if (tree.module[v] !== -1) {
      const byTime = targets.kind[targets.level[c]!] === 'cpu-time';
      service[v] = byTime ? targets.target[c]! / own[c]! : targets.target[c]!;
    }
    if (tree.module[v] === -1) service[v] = Math.max(...childrenOf(tree, v).map((w) => service[w]!));
  }
  return { layout: { tree, nodeLevel, targets, heads: tree.forced, service, bound: fixed(tree.forced, BY_HAND) } };
}

/** A queue at every branch, weights from the same formulation (Alpine 5.2.2, Fig. 5.3c). */
function semiManual(problem: ScheduleProblem, mode: Mode): Outcome {
  const setting = settingOf(problem, unfold(problem));
  const { tree, nodeLevel, targets, regions } = setting;
  const conflicts = mode === 'constrained' ? conflictsIn(problem, setting) : [];
  if (conflicts.length > 0) return { conflicts };
  const service = new Float64Array(tree.parent.length);
  const heads = new Uint8Array(service.length);
  for (const region of regions) {
    const own = region.kind === 'cpu-time' ? servicesByHand(region, mode) : throughputServices(region);
    const cut = headsOf(region, own);
    region.node.forEach((v, i) => {
      service[v] = own[i]!;
      heads[v] = cut[i]!;
    });
  }
  tree.parent.forEach((_, v) => {
    const children = childrenOf(tree, v);
    if (children.length > 1) for (const w of children) heads[w] = 1;
  });
  return { layout: { tree, nodeLevel, targets, heads, service, bound: fixed(heads, BY_HAND) } };
}

/** Of services that never rise, where these exist, and in the free mode those that poll: what carries more of all classes. */
function servicesByHand(region: Region, mode: Mode): Service {
  const polling = constructServices(region, 'free');
  if (obstacle(region) > 0) return polling;
  const scaled = atBestScale(region);
  const working = constructServices(scaled, 'constrained');
  const isBetter = mode === 'constrained' || packetsPerCycle(scaled, working) > packetsPerCycle(region, polling);
  return isBetter ? working : polling;
}

const BY_HAND = 'the cuts are given';

function fixed(heads: Uint8Array, proof: string): TaskBound {
  const tasks = countOf(heads);
  return { tasks, lower_bound: tasks, gap: 0, proven_optimal: true, method: 'fixed', proof };
}

function ownCycles(problem: ScheduleProblem, tree: Tree, nodeLevel: Int32Array, level: Int32Array): Float64Array {
  return Float64Array.from(problem.classes, (_, c) => {
    let sum = 0;
    for (let v = tree.leaf[c]!; v >= 0; v = tree.parent[v]!)
      if (tree.module[v] !== -1 && nodeLevel[v] === level[c]) sum += tree.cycles_per_packet[v]!;
    return sum;
  });
}

function noClassifier(problem: ScheduleProblem): ScheduleConflict {
  return {
    constraint: 'classifier',
    needed: 1,
    available: 0,
    unit: 'classifiers',
    where: 'the sources: only modules further down can tell the classes apart',
    classes: [...problem.classes.keys()],
    slos: [],
    modules: [...new Set(problem.classes.map(({ path }) => path[0]!))],
  };
}
