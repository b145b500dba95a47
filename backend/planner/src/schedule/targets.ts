import { BadProblem } from '../bad-problem.js';
import type { ScheduleProblem, Slo } from './problem.js';
import type { Tree } from './tree.js';

const SAME = 1e-9;

type RatioSlo = Exclude<Slo, { kind: 'priority' }>;

/** Targets from the SLOs, by class. */
export interface Targets {
  /** Priority level of each class; 0 is served first. */
  readonly level: Int32Array;
  readonly levels: number;
  /** What the classes of each level are measured by. */
  readonly kind: readonly RatioSlo['kind'][];
  /**
   * For CPU time: cycles to spend on a class per packet that it offers; for throughput: packets to let through per packet
   * offered. Only the ratios among the classes of a group bind: a group as a whole may get more or less, so that one
   * class by itself binds nothing. Scaled here so that each group gets what it offers. Counts cycles of the class's own
   * level only.
   */
  readonly target: Float64Array;
  /** The same times the packets that the class offers: cycles or packets per second, in ratio. */
  readonly wanted: Float64Array;
  /** Ratio SLOs from which each class's target was derived, and the class at their other end; -1 for the first of a group. */
  readonly via: Int32Array;
  readonly from: Int32Array;
  /** Classes that ratio SLOs tie to each other, directly or over others, have the same number. */
  readonly group: Int32Array;
}

type ClassesAndSlos = Pick<ScheduleProblem, 'slos'> & { readonly classes: readonly unknown[] };

/** Errors: `BadProblem` for SLOs that contradict each other or mix measures in one priority level. */
export function targetsOf(problem: ClassesAndSlos): Omit<Targets, 'target' | 'wanted'> & { weight: Float64Array } {
  const { classes, slos } = problem;
  const weight = new Float64Array(classes.length).fill(0);
  const via = new Int32Array(classes.length).fill(-1);
  const from = new Int32Array(classes.length).fill(-1);
  const group = new Int32Array(classes.length).fill(-1);
  const around: { other: number; factor: number; slo: number }[][] = classes.map(() => []);
  slos.forEach((slo, i) => {
    if (slo.kind === 'priority') return;
    around[slo.a]!.push({ other: slo.b, factor: 1 / slo.ratio, slo: i });
    around[slo.b]!.push({ other: slo.a, factor: slo.ratio, slo: i });
  });
  let groups = 0;
  for (let start = 0; start < classes.length; start++) {
    if (group[start]! >= 0) continue;
    weight[start] = 1;
    group[start] = groups++;
    const queue = [start];
    let tie: number | undefined;
    for (const c of queue) {
      for (const { other, factor, slo } of around[c]!) {
        const wanted = weight[c]! * factor;
        tie ??= slo;
        if (slos[slo]!.kind !== slos[tie]!.kind) throw mixed(Math.max(slo, tie));
        if (group[other]! >= 0) {
          if (Math.abs(wanted / weight[other]! - 1) > SAME)
            throw new BadProblem(`/slos/${slo}/ratio`, 'contradicts the SLOs before it');
          continue;
        }
        weight[other] = wanted;
        group[other] = group[start]!;
        via[other] = slo;
        from[other] = c;
        queue.push(other);
      }
    }
  }
  const ofGroup = levelsOf(problem, group, groups);
  const level = Int32Array.from(classes, (_, c) => ofGroup[group[c]!]!);
  const levels = Math.max(...level) + 1;
  return { level, levels, kind: kindsOf(slos, level, levels), weight, via, from, group };
}

function mixed(slo: number): BadProblem {
  return new BadProblem(
    `/slos/${slo}/kind`,
    'mixes CPU time and throughput among classes that share; give one pair priority, or use one kind for all',
  );
}

/** Level of each group of tied classes: below everything that has priority over it; the lowest one if nothing is said. */
function levelsOf({ slos }: ClassesAndSlos, group: Int32Array, groups: number): Int32Array {
  const below: { group: number; slo: number }[][] = Array.from({ length: groups }, () => []);
  const above = new Int32Array(groups);
  const mentioned = new Uint8Array(groups);
  slos.forEach((slo, i) => {
    if (slo.kind !== 'priority') return;
    const [a, b] = [group[slo.above]!, group[slo.below]!];
    if (a === b) throw new BadProblem(`/slos/${i}`, 'sets a class above one to which a ratio ties it');
    below[a]!.push({ group: b, slo: i });
    above[b]!++;
    mentioned[a] = 1;
    mentioned[b] = 1;
  });
  const level = new Int32Array(groups);
  const ready = [...level.keys()].filter((g) => above[g] === 0);
  for (const g of ready) {
    for (const { group: other } of below[g]!) {
      level[other] = Math.max(level[other]!, level[g]! + 1);
      if (--above[other]! === 0) ready.push(other);
    }
  }
  if (ready.length < groups) {
    const circular = slos.findIndex((slo) => slo.kind === 'priority' && above[group[slo.below]!]! > 0);
    throw new BadProblem(`/slos/${circular}`, 'is part of a circle of priorities');
  }
  const lowest = Math.max(...level);
  return level.map((it, g) => (mentioned[g] ? it : lowest));
}

function kindsOf(slos: readonly Slo[], level: Int32Array, levels: number): RatioSlo['kind'][] {
  const kinds: (RatioSlo['kind'] | undefined)[] = new Array(levels).fill(undefined);
  slos.forEach((slo, i) => {
    if (slo.kind === 'priority') return;
    const at = level[slo.a]!;
    if (kinds[at] !== undefined && kinds[at] !== slo.kind) throw mixed(i);
    kinds[at] = slo.kind;
  });
  return kinds.map((kind) => kind ?? 'cpu-time');
}

/** Level of each node: that of the foremost class through it. */
export function nodeLevels(tree: Tree, level: Int32Array): Int32Array {
  return tree.module.map((_, v) => {
    let least = Number.MAX_SAFE_INTEGER;
    for (let k = tree.first[v]!; k < tree.last[v]!; k++) least = Math.min(least, level[tree.classAt[k]!]!);
    return least;
  });
}

/** Targets from the relative weights, given the cycles that each class needs per packet in its own level. */
export function scaleTargets(
  problem: ScheduleProblem,
  parts: ReturnType<typeof targetsOf>,
  ownCycles: Float64Array,
): Targets {
  const { classes } = problem;
  const { weight, ...rest } = parts;
  const head = Int32Array.from(classes, (_, c) => {
    let at = c;
    while (parts.from[at]! >= 0) at = parts.from[at]!;
    return at;
  });
  const offered = new Float64Array(classes.length);
  const asked = new Float64Array(classes.length);
  classes.forEach(({ rate_pps }, c) => {
    const byTime = parts.kind[parts.level[c]!] === 'cpu-time';
    offered[head[c]!]! += byTime ? rate_pps * ownCycles[c]! : rate_pps;
    asked[head[c]!]! += weight[c]!;
  });
  const wanted = Float64Array.from(classes, (_, c) => offered[head[c]!]! * (weight[c]! / asked[head[c]!]!));
  const target = Float64Array.from(classes, ({ rate_pps }, c) => wanted[c]! / rate_pps);
  const unbounded = target.findIndex((it) => !(it > 0 && Number.isFinite(it)));
  if (unbounded >= 0) throw new BadProblem(`/classes/${unbounded}`, 'is tied by ratios too far apart to compute with');
  return { ...rest, target, wanted };
}
