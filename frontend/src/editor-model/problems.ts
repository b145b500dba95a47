import type { PipelineDefinition, PipelineProblem } from '@orrery/contract';
import { type PipelineContext, validatePipeline } from '@orrery/planner/pipeline/validate';
import { same } from './diff.js';
import { pathOf } from './pipeline-yaml.js';

/** Findings on a definition, sorted with errors first, and by the part of the canvas that they belong to. */
export interface ProblemIndex {
  all: PipelineProblem[];
  errors: number;
  warnings: number;
  byNode: ReadonlyMap<string, PipelineProblem[]>;
  byEdge: ReadonlyMap<string, PipelineProblem[]>;
}

/** Checks a definition exactly as the server will. Lists that are as in `previous` are the same objects. */
export function check(definition: PipelineDefinition, context: PipelineContext, previous?: ProblemIndex): ProblemIndex {
  const found = validatePipeline(definition, context).map((problem) => ownerOf(definition, problem));
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

/** Names the node or edge that a pointer lies in where the finding itself does not. */
export function ownerOf<Problem extends { pointer: string; node?: string; edge?: string }>(
  definition: PipelineDefinition,
  problem: Problem,
): Problem {
  if (problem.node || problem.edge) return problem;
  const [list, index] = pathOf(problem.pointer);
  const node = list === 'nodes' ? definition.nodes[Number(index)]?.id : undefined;
  const edge = list === 'edges' ? definition.edges[Number(index)]?.id : undefined;
  return { ...problem, ...(node ? { node } : {}), ...(edge ? { edge } : {}) };
}

type Groups = ReadonlyMap<string, PipelineProblem[]>;

function groupBy(
  problems: readonly PipelineProblem[],
  key: (problem: PipelineProblem) => string | undefined,
  previous?: Groups,
): Groups {
  const groups = new Map<string, PipelineProblem[]>();
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

/** Findings at a field of a node's configuration or below it; `path` is relative to the configuration. */
export function problemsAt(
  definition: PipelineDefinition,
  problems: readonly PipelineProblem[],
  node: string,
  path: readonly (string | number)[],
): PipelineProblem[] {
  const index = definition.nodes.findIndex((each) => each.id === node);
  const wanted = ['nodes', String(index), 'config', ...path.map(String)];
  return problems.filter((problem) => {
    const given = pathOf(problem.pointer);
    return wanted.every((step, position) => given[position] === step);
  });
}
