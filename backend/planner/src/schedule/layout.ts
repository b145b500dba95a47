import { conflictOf } from './conflicts.js';
import { constructServices } from './cpu-time.js';
import { type Allowance, BOUND_PART, enumerate, MAX_ENUMERATED, partsBound } from './enumerate.js';
import { atBestScale } from './group-factors.js';
import type { Mode, ScheduleConflict, ScheduleProblem, TaskBound } from './problem.js';
import { countOf, FREE, headsOf, type Region, regionsOf, type Service } from './region.js';
import { nodeLevels, scaleTargets, type Targets, targetsOf } from './targets.js';
import { throughputServices } from './throughput.js';
import type { Tree } from './tree.js';

/** A tree with where its tasks begin and how much each serves: all that a scheduler follows from. */
export interface Layout {
  readonly tree: Tree;
  readonly nodeLevel: Int32Array;
  readonly targets: Targets;
  readonly heads: Uint8Array;
  readonly service: Service;
  readonly bound: TaskBound;
  /** Tasks run without priorities, whatever the SLOs say. */
  readonly flat?: boolean;
}

/** A tree cut into regions with the targets of their classes. */
interface Setting {
  readonly tree: Tree;
  readonly nodeLevel: Int32Array;
  readonly targets: Targets;
  readonly regions: readonly Region[];
}

export function settingOf(problem: ScheduleProblem, tree: Tree): Setting {
  const parts = targetsOf(problem);
  const nodeLevel = nodeLevels(tree, parts.level);
  const own = Float64Array.from(problem.classes, (_, c) => {
    let sum = 0;
    for (let v = tree.leaf[c]!; v >= 0 && nodeLevel[v] === parts.level[c]; v = tree.parent[v]!)
      if (tree.module[v]! >= 0) sum += tree.cycles_per_packet[v]!;
    return sum;
  });
  const targets = scaleTargets(problem, parts, own);
  return { tree, nodeLevel, targets, regions: regionsOf(tree, nodeLevel, targets) };
}

export function conflictsIn(problem: ScheduleProblem, { tree, targets, regions }: Setting): ScheduleConflict[] {
  return regions.flatMap((region) => conflictOf(problem, tree, targets, region) ?? []);
}

/** The fewest tasks that the sizes of the regions and the budget allow to find. */
export function fewestTasks(setting: Setting, mode: Mode, left: Allowance): Layout {
  const { tree, nodeLevel, targets, regions } = setting;
  const heads = new Uint8Array(tree.parent.length);
  const service = new Float64Array(tree.parent.length);
  const answers = regions.map((region) => {
    const answer = solveRegion(region, mode, left);
    const cut = headsOf(region, answer.service);
    region.node.forEach((v, i) => {
      heads[v] = cut[i]!;
      service[v] = answer.service[i]!;
    });
    return answer;
  });
  const tasks = countOf(heads);
  const lower = answers.reduce((sum, { lower_bound }) => sum + lower_bound, 0);
  const order = ['constructive', 'enumeration', 'dynamic-programme'] as const;
  const method = order.find((it) => answers.some((answer) => answer.method === it))!;
  const bound = {
    tasks,
    lower_bound: lower,
    gap: tasks - lower,
    proven_optimal: tasks === lower,
    method,
    proof: [...new Set(answers.map(({ proof }) => proof))].join('; '),
  };
  return { tree, nodeLevel, targets, heads, service, bound };
}

interface RegionAnswer {
  readonly service: Service;
  readonly lower_bound: number;
  readonly method: 'constructive' | 'enumeration' | 'dynamic-programme';
  readonly proof: string;
}

function solveRegion(asked: Region, mode: Mode, left: Allowance): RegionAnswer {
  if (asked.kind === 'throughput') {
    const service = throughputServices(asked);
    const single = asked.groups < 2;
    const alone = [...new Array(asked.groups).keys()].map((group) => tasksOfGroup(asked, group));
    return {
      service,
      lower_bound: single ? countOf(headsOf(asked, service)) : Math.max(...alone),
      method: 'dynamic-programme',
      proof: `dynamic programme over all services that ${single ? 'classes' : 'the classes of one group'} ask for`,
    };
  }
  const region = mode === 'constrained' ? atBestScale(asked) : asked;
  const service = constructServices(region, mode);
  const heads = headsOf(region, service);
  if (region.parent.length <= MAX_ENUMERATED) {
    const found = enumerate(region, mode, service, heads, left);
    const proof = found.complete ? 'every way to cut was tried' : 'every way with fewer cuts was tried';
    return { ...found, method: 'enumeration', proof };
  }
  return {
    service,
    lower_bound: partsBound(region, mode, BOUND_PART, left),
    method: 'constructive',
    proof: `parts of up to ${BOUND_PART} modules need that many, every way to cut them was tried`,
  };
}

/** The fewest tasks if only one group of tied classes had targets. */
function tasksOfGroup(region: Region, only: number): number {
  const relaxed = { ...region, group: region.group.map((group) => (group === only ? group : FREE)) };
  return countOf(headsOf(relaxed, throughputServices(relaxed)));
}
