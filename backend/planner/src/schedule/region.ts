import type { Targets } from './targets.js';
import type { Tree } from './tree.js';

/**
 * Modules of one priority level that hang together: a tree by itself, in preorder, with the classes of that level. No
 * SLO ties its cuts to those of another region once targets are known, so that each is solved alone.
 */
export interface Region {
  /** Node of the tree for each of the region's. */
  readonly node: Int32Array;
  readonly level: number;
  readonly kind: 'cpu-time' | 'throughput';
  readonly parent: Int32Array;
  readonly end: Int32Array;
  readonly cycles: Float64Array;
  /** Cycles from the region's root to the node, both included. */
  readonly depth: Float64Array;
  /** All packets offered to the node, also those of later levels. */
  readonly rate_pps: Float64Array;
  /** 1 where a task begins in any case; always at node 0. */
  readonly forced: Uint8Array;
  /** Classes of the problem, in the order of their leaves. */
  readonly classes: Int32Array;
  readonly leaf: Int32Array;
  readonly target: Float64Array;
  /**
   * For each leaf `FREE`, or which targets it keeps its ratio to: those of group 0 are as they stand, those of another
   * group hold up to a factor common to the group.
   */
  readonly group: Int32Array;
  readonly groups: number;
  /** 1 for nodes that a class with a target passes. */
  readonly binds: Uint8Array;
  readonly first: Int32Array;
  readonly last: Int32Array;
}

/** The group of a class that no ratio ties: it may get any share above 0. */
export const FREE = -1;

/** Packets served per packet offered at each node of a region; equal inside a task. */
export type Service = Float64Array;

export function regionsOf(tree: Tree, nodeLevel: Int32Array, targets: Targets): Region[] {
  const out: Omit<Region, 'group' | 'groups' | 'binds'>[] = [];
  tree.parent.forEach((parent, v) => {
    if (parent < 0 || nodeLevel[parent] !== nodeLevel[v]) out.push(regionAt(tree, nodeLevel, targets, v));
  });
  const home = new Map<number, number>();
  const spread = new Set<number>();
  out.forEach(({ classes }, i) => {
    for (const c of classes) {
      const group = targets.group[c]!;
      if ((home.get(group) ?? i) !== i) spread.add(group);
      home.set(group, i);
    }
  });
  return out.map((region) => ({ ...region, ...bindingOf(region, targets.group, spread) }));
}

/** Groups with classes in several regions keep their scale, since it ties these; without one, the first group does. */
function bindingOf(
  { classes, parent, leaf }: Pick<Region, 'classes' | 'parent' | 'leaf'>,
  groupOf: Int32Array,
  spread: ReadonlySet<number>,
): Pick<Region, 'group' | 'groups' | 'binds'> {
  const size = new Map<number, number>();
  for (const c of classes) size.set(groupOf[c]!, (size.get(groupOf[c]!) ?? 0) + 1);
  const scalable = [...size].flatMap(([group, count]) => (count > 1 && !spread.has(group) ? [group] : []));
  const fixed = [...size.keys()].some((group) => spread.has(group));
  const number = new Map(scalable.map((group, i) => [group, fixed ? i + 1 : i]));
  const group = classes.map((c) => (spread.has(groupOf[c]!) ? 0 : (number.get(groupOf[c]!) ?? FREE)));
  return { group, groups: number.size + (fixed ? 1 : 0), binds: bindingNodes(parent, leaf, group) };
}

/** 1 for nodes on the path of a class that is not free. */
function bindingNodes(parent: Int32Array, leaf: Int32Array, group: Int32Array): Uint8Array {
  const binds = new Uint8Array(parent.length);
  leaf.forEach((v, k) => {
    if (group[k] !== FREE) binds[v] = 1;
  });
  for (let v = binds.length - 1; v > 0; v--) if (binds[v]) binds[parent[v]!] = 1;
  return binds;
}

function regionAt(
  tree: Tree,
  nodeLevel: Int32Array,
  targets: Targets,
  root: number,
): Omit<Region, 'group' | 'groups' | 'binds'> {
  const level = nodeLevel[root]!;
  const local = new Map<number, number>();
  const nodes: number[] = [];
  const classes: number[] = [];
  const leaf: number[] = [];
  const first: number[] = [];
  for (let v = root; v < tree.end[root]!; v++) {
    if (nodeLevel[v] !== level) continue;
    local.set(v, nodes.length);
    first.push(classes.length);
    nodes.push(v);
    if (tree.end[v] !== v + 1) continue;
    classes.push(tree.classAt[tree.first[v]!]!);
    leaf.push(nodes.length - 1);
  }
  const n = nodes.length;
  const parent = Int32Array.from(nodes, (v) => (v === root ? -1 : local.get(tree.parent[v]!)!));
  const end = new Int32Array(n);
  const last = new Int32Array(n);
  for (let v = n - 1; v >= 0; v--) {
    end[v] = Math.max(end[v]!, v + 1);
    const up = parent[v]!;
    if (up >= 0) end[up] = Math.max(end[up]!, end[v]!);
  }
  for (let v = 0; v < n; v++) last[v] = end[v]! < n ? first[end[v]!]! : classes.length;
  const cycles = Float64Array.from(nodes, (v) => tree.cycles_per_packet[v]!);
  const depth = new Float64Array(n);
  for (let v = 0; v < n; v++) depth[v] = cycles[v]! + (v === 0 ? 0 : depth[parent[v]!]!);
  return {
    node: Int32Array.from(nodes),
    level,
    kind: targets.kind[level]!,
    parent,
    end,
    cycles,
    depth,
    rate_pps: Float64Array.from(nodes, (v) => tree.rate_pps[v]!),
    forced: Uint8Array.from(nodes, (v) => (v === root ? 1 : tree.forced[v]!)),
    classes: Int32Array.from(classes),
    leaf: Int32Array.from(leaf),
    target: Float64Array.from(classes, (c) => targets.target[c]!),
    first: Int32Array.from(first),
    last,
  };
}

/** Relative difference below which two services are one. */
const SAME_SERVICE = 1e-9;

/** Where tasks begin: at forced nodes and wherever the service changes. */
export function headsOf(region: Region, service: Service): Uint8Array {
  return region.forced.map((forced, v) => {
    if (forced) return 1;
    const [above, here] = [service[region.parent[v]!]!, service[v]!];
    return Math.abs(above - here) > SAME_SERVICE * Math.max(above, here) ? 1 : 0;
  });
}

export function countOf(heads: Uint8Array): number {
  return heads.reduce((sum, head) => sum + head, 0);
}

/**
 * Packets that leave per cycle granted when a queue cannot give more than it got: the geometric mean over the region's classes, so
 * that none is starved to the gain of others (proportional fairness, Kelly 1998).
 */
export function packetsPerCycle(region: Region, service: Service): number {
  const { cycles, rate_pps, leaf, parent } = region;
  const granted = service.reduce((sum, value, v) => sum + value * cycles[v]! * rate_pps[v]!, 0);
  const useful = Float64Array.from(service);
  for (let v = 1; v < useful.length; v++) useful[v] = Math.min(useful[v]!, useful[parent[v]!]!);
  const logs = leaf.reduce((sum, at) => sum + Math.log(useful[at]! * rate_pps[at]!), 0);
  return Math.exp(logs / leaf.length) / granted;
}
