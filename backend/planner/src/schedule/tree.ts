import { BadProblem } from '../bad-problem.js';
import { MAX_TREE_NODES, type ScheduleProblem } from './problem.js';

/**
 * The paths of all classes laid over each other from their sources: a forest in which every class ends in a leaf of its
 * own. A module that is reached over several paths stands in it once for each, since without a queue it runs inside
 * whichever task calls it, and with queues it has one for each caller. Nodes are in preorder: a parent comes before its
 * children, and the nodes below `v` are `v + 1 .. end[v] - 1`.
 */
export interface Tree {
  /** Module at each node; -1 for a classifier. */
  readonly module: Int32Array;
  /** -1 for a source. */
  readonly parent: Int32Array;
  readonly end: Int32Array;
  readonly cycles_per_packet: Float64Array;
  /** Offered packets that pass, over all classes. */
  readonly rate_pps: Float64Array;
  /** 1 where a task begins whatever the plan. */
  readonly forced: Uint8Array;
  /** Classes in the order of their leaves. */
  readonly classAt: Int32Array;
  /** Leaf of each class, by class. */
  readonly leaf: Int32Array;
  /** Classes through a node are `classAt[first[v]] .. classAt[last[v] - 1]`. */
  readonly first: Int32Array;
  readonly last: Int32Array;
}

interface Sprout {
  readonly module: number;
  readonly children: Map<number, Sprout>;
  cls: number;
}

/** Errors: `BadProblem` for two classes with the same path, or a graph that unfolds into too large a tree. */
export function unfold(problem: ScheduleProblem): Tree {
  const roots = new Map<number, Sprout>();
  let size = 0;
  problem.classes.forEach(({ path }, cls) => {
    let level = roots;
    let node: Sprout | undefined;
    for (const module of path) {
      node = level.get(module);
      if (node === undefined) {
        node = { module, children: new Map(), cls: -1 };
        level.set(module, node);
        if (++size > MAX_TREE_NODES)
          throw new BadProblem('/classes', `unfold into more than ${MAX_TREE_NODES} modules`);
      }
      level = node.children;
    }
    if (node!.cls >= 0) throw new BadProblem(`/classes/${cls}/path`, `is that of class ${node!.cls} too`);
    node!.cls = cls;
  });
  return flatten(problem, roots, size, problem.classes.length);
}

/** The tree of the manual strategy: a classifier at each source, then the whole path of each class for itself. */
export function classifiedTree(problem: ScheduleProblem, classifierCycles: number): Tree {
  const roots = new Map<number, Sprout>();
  let size = 0;
  problem.classes.forEach(({ path }, cls) => {
    let root = roots.get(path[0]!);
    if (root === undefined) {
      root = { module: -1, children: new Map(), cls: -1 };
      roots.set(path[0]!, root);
      size++;
    }
    let chain = root.children;
    path.forEach((module, i) => {
      const node: Sprout = { module, children: new Map(), cls: i === path.length - 1 ? cls : -1 };
      chain.set(i === 0 ? cls : module, node);
      chain = node.children;
    });
    size += path.length;
  });
  const tree = flatten(problem, roots, size, problem.classes.length);
  tree.parent.forEach((parent, v) => {
    if (tree.module[v] === -1) tree.cycles_per_packet[v] = classifierCycles;
    if (parent >= 0 && tree.module[parent] === -1) tree.forced[v] = 1;
  });
  return tree;
}

function flatten(problem: ScheduleProblem, roots: Map<number, Sprout>, size: number, classes: number): Tree {
  const tree = {
    module: new Int32Array(size),
    parent: new Int32Array(size),
    end: new Int32Array(size),
    cycles_per_packet: new Float64Array(size),
    rate_pps: new Float64Array(size),
    forced: new Uint8Array(size),
    classAt: new Int32Array(classes),
    leaf: new Int32Array(classes),
    first: new Int32Array(size),
    last: new Int32Array(size),
  };
  let next = 0;
  let ends = 0;
  const stack: { sprout: Sprout; parent: number; node: number }[] = [];
  const pushAll = (level: Map<number, Sprout>, parent: number) => {
    for (const sprout of [...level.values()].reverse()) stack.push({ sprout, parent, node: -1 });
  };
  pushAll(roots, -1);
  while (stack.length > 0) {
    const top = stack.at(-1)!;
    if (top.node >= 0) {
      stack.pop();
      closeNode(top.node);
      continue;
    }
    const v = next++;
    top.node = v;
    const module = problem.modules[top.sprout.module];
    tree.module[v] = top.sprout.module;
    tree.parent[v] = top.parent;
    tree.cycles_per_packet[v] = module?.cycles_per_packet ?? 0;
    tree.forced[v] = top.parent === -1 || module?.schedulable ? 1 : 0;
    tree.first[v] = ends;
    if (top.sprout.cls >= 0) {
      tree.classAt[ends++] = top.sprout.cls;
      tree.leaf[top.sprout.cls] = v;
    }
    pushAll(top.sprout.children, v);
  }
  return tree;

  function closeNode(v: number): void {
    tree.end[v] = next;
    tree.last[v] = ends;
    for (let k = tree.first[v]!; k < ends; k++) tree.rate_pps[v]! += problem.classes[tree.classAt[k]!]!.rate_pps;
  }
}

export function childrenOf(tree: Pick<Tree, 'end'>, v: number): number[] {
  const out: number[] = [];
  for (let w = v + 1; w < tree.end[v]!; w = tree.end[w]!) out.push(w);
  return out;
}
