import type { PipelineDefinition, PipelineProblem } from '@orrery/contract';
import { type PipelineGraph, topologicalOrder } from './graph.js';
import { MAX_PATHS, type Path, pathsOf } from './paths.js';

/** Objectives between traffic classes: each names two classes that can be told apart, and they do not contradict. */
export function checkObjectives(definition: PipelineDefinition, graph: PipelineGraph): PipelineProblem[] {
  const { class_slos } = definition;
  if (class_slos.length === 0 || topologicalOrder(graph) === null) return [];
  const paths = pathsOf(definition);
  const problems: PipelineProblem[] = [];
  const error = (pointer: string, message: string) =>
    problems.push({ code: 'bad-objective', severity: 'error', message, pointer: `/class_slos/${pointer}` });
  const seen = new Set<string>();
  class_slos.forEach((slo, i) => {
    if (seen.has(slo.id)) error(`${i}/id`, `another objective is called "${slo.id}"`);
    seen.add(slo.id);
    const ends = slo.kind === 'priority' ? { above: slo.above, below: slo.below } : { a: slo.a, b: slo.b };
    for (const [end, edge] of Object.entries(ends)) {
      const fault = classFault(edge, definition, paths);
      if (fault) error(`${i}/${end}`, fault);
    }
    const [one, other] = Object.values(ends).map((edge) => paths?.find(({ edges }) => edges.includes(edge)));
    if (one && one === other) error(`${i}`, 'both edges lie on the same way, so that they carry the same class');
  });
  const circle = priorityCircle(class_slos);
  if (circle !== null) error(`${circle}`, 'the priorities go round in a circle');
  return problems;
}

/** Why an edge names no class; `null` when it does. */
function classFault(edge: string, { edges }: PipelineDefinition, paths: readonly Path[] | null): string | null {
  if (!edges.some(({ id }) => id === edge)) return `there is no edge "${edge}"`;
  if (!paths) return `the chain has more than ${MAX_PATHS} ways, which cannot be told apart`;
  const through = paths.filter((path) => path.edges.includes(edge)).length;
  if (through === 1) return null;
  return through === 0
    ? `no traffic takes edge "${edge}"`
    : `${through} ways take edge "${edge}"; name one that only one takes`;
}

/** An objective that closes a circle of priorities between edges; `null` when there is none. */
function priorityCircle(slos: PipelineDefinition['class_slos']): number | null {
  const below = new Map<string, string[]>();
  for (const [i, slo] of slos.entries()) {
    if (slo.kind !== 'priority') continue;
    if (reaches(below, slo.below, slo.above)) return i;
    below.set(slo.above, [...(below.get(slo.above) ?? []), slo.below]);
  }
  return null;
}

function reaches(below: ReadonlyMap<string, readonly string[]>, from: string, to: string): boolean {
  const seen = new Set([from]);
  for (const at of seen) {
    if (at === to) return true;
    for (const next of below.get(at) ?? []) seen.add(next);
  }
  return false;
}
