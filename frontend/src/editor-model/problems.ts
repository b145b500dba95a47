import type { PipelineDefinition, PipelineProblem } from '@orrery/contract';
import { checkTogether } from '@orrery/planner/pipeline/check-together';
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

export interface CheckContext extends PipelineContext {
  /** What else is deployed, and must run beside it. */
  readonly others?: readonly PipelineDefinition[];
}

/**
 * Checks a definition as the server does before it plans; only whether there is room is left to the plan itself. Lists that
 * are as in `previous` are the same objects.
 */
export function check(definition: PipelineDefinition, context: CheckContext, previous?: ProblemIndex): ProblemIndex {
  const alone = validatePipeline(definition, context);
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

/** What keeps a definition from running beside the others, as problems of its own. */
function checkBeside(definition: PipelineDefinition, { descriptors, others = [] }: CheckContext): PipelineProblem[] {
  const planned = [...others, definition].map((each, index) => ({
    pipeline_id: String(index),
    version: 0,
    definition: each,
  }));
  const own = String(others.length);
  return checkTogether(planned, descriptors)
    .filter(({ pipeline_id }) => pipeline_id === own)
    .map(({ pipeline_id: _, ...problem }) => problem);
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
