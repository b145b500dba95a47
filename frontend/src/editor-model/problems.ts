import type { ChainDefinition, ChainProblem } from '@orrery/contract';
import { type ChainContext, checkTogether, validateChain } from '@orrery/planner';
import { same } from './diff.js';
import { pathOf } from './pointer.js';

/** Problems of a definition, errors first, and grouped by the part of the canvas that they belong to. */
export interface ProblemIndex {
  all: ChainProblem[];
  errors: number;
  warnings: number;
  byNode: ReadonlyMap<string, ChainProblem[]>;
  byEdge: ReadonlyMap<string, ChainProblem[]>;
}

export interface CheckContext extends ChainContext {
  /** Other deployed chains, which must run alongside it. */
  readonly others?: readonly ChainDefinition[];
}

/**
 * Checks a definition as the server does before planning; only capacity is left to the plan itself. Lists that are equal to
 * those in `previous` are the same objects.
 */
export function check(definition: ChainDefinition, context: CheckContext, previous?: ProblemIndex): ProblemIndex {
  const alone = validateChain(definition, context);
  const beside = alone.some(({ severity }) => severity === 'error') ? [] : checkBeside(definition, context);
  const found = [...alone, ...beside].map((problem) => ownerOf(definition, problem));
  const errors = found.filter((problem) => problem.severity === 'error');
  const warnings = found.filter((problem) => problem.severity === 'warning');
  return {
    all: [...errors, ...warnings],
    errors: errors.length,
    warnings: warnings.length,
    byNode: groupBy(found, (problem) => problem.node, previous?.byNode),
    byEdge: groupBy(found, (problem) => problem.edge, previous?.byEdge),
  };
}

/** What prevents a definition from running alongside the others, as problems of this definition. */
function checkBeside(definition: ChainDefinition, { descriptors, others = [] }: CheckContext): ChainProblem[] {
  const planned = [...others, definition].map((each, index) => ({
    chain_id: String(index),
    version: 0,
    definition: each,
  }));
  const own = String(others.length);
  return checkTogether(planned, descriptors)
    .filter(({ chain_id }) => chain_id === own)
    .map(({ chain_id: _, ...problem }) => problem);
}

/** Adds the node or edge that the pointer is in, if the problem does not name one. */
export function ownerOf<Problem extends { pointer: string; node?: string; edge?: string }>(
  definition: ChainDefinition,
  problem: Problem,
): Problem {
  if (problem.node || problem.edge) return problem;
  const [list, index] = pathOf(problem.pointer);
  const node = list === 'nodes' ? definition.nodes[Number(index)]?.id : undefined;
  const edge = list === 'edges' ? definition.edges[Number(index)]?.id : undefined;
  return { ...problem, ...(node ? { node } : {}), ...(edge ? { edge } : {}) };
}

type Groups = ReadonlyMap<string, ChainProblem[]>;

function groupBy(
  problems: readonly ChainProblem[],
  key: (problem: ChainProblem) => string | undefined,
  previous?: Groups,
): Groups {
  const groups = new Map<string, ChainProblem[]>();
  for (const problem of problems) {
    const name = key(problem);
    if (name === undefined) continue;
    const group = groups.get(name);
    if (group) group.push(problem);
    else groups.set(name, [problem]);
  }
  for (const [name, group] of groups) {
    const before = previous?.get(name);
    if (before && same(before, group)) groups.set(name, before);
  }
  return groups;
}

/** Problems at or below a field of a node's configuration; `path` is relative to the configuration. */
export function problemsAt(
  definition: ChainDefinition,
  problems: readonly ChainProblem[],
  node: string,
  path: readonly (string | number)[],
): ChainProblem[] {
  const index = definition.nodes.findIndex((each) => each.id === node);
  const wanted = ['nodes', String(index), 'config', ...path.map(String)];
  return problems.filter((problem) => {
    const given = pathOf(problem.pointer);
    return wanted.every((step, position) => given[position] === step);
  });
}
