import type { ChainDefinition, ChainProblem } from '@orrery/contract';
import { BadProblem } from '../bad-problem.js';
import { targetsOf } from '../schedule/targets.js';
import { type ChainGraph, topologicalOrder } from './graph.js';
import { MAX_PATHS, type Path, pathsOf } from './paths.js';

/** Objectives between path classes: each names two distinguishable classes, and they do not contradict each other. */
export function checkObjectives(definition: ChainDefinition, graph: ChainGraph): ChainProblem[] {
  const { class_slos } = definition;
  if (class_slos.length === 0 || topologicalOrder(graph) === null) return [];
  const paths = pathsOf(definition);
  const problems: ChainProblem[] = [];
  const error = (pointer: string, message: string) =>
    problems.push({ code: 'bad-objective', severity: 'error', message, pointer: `/class_slos/${pointer}` });
  const seen = new Set(definition.slos.map(({ id }) => id));
  class_slos.forEach((slo, i) => {
    if (seen.has(slo.id)) error(`${i}/id`, `another objective is called "${slo.id}"`);
    seen.add(slo.id);
    const ends = slo.kind === 'priority' ? { above: slo.above, below: slo.below } : { a: slo.a, b: slo.b };
    const faults = Object.entries(ends).flatMap(([end, edge]) => {
      const fault = classFault(edge, definition, paths);
      return fault ? [{ end, fault }] : [];
    });
    for (const { end, fault } of faults) error(`${i}/${end}`, fault);
    if (faults.length > 0) return;
    const [one, other] = Object.values(ends).map((edge) => paths?.find(({ edges }) => edges.includes(edge)));
    if (one && one === other) error(`${i}`, 'both edges lie on the same path, so they carry the same class');
  });
  if (problems.length === 0) problems.push(...contradictions(definition, paths!));
  return problems;
}

/** Contradictions between objectives. Precondition: each names two classes. */
function contradictions({ class_slos }: ChainDefinition, paths: readonly Path[]): ChainProblem[] {
  const classOf = (edge: string) => paths.findIndex(({ edges }) => edges.includes(edge));
  const slos = class_slos.map((slo) =>
    slo.kind === 'priority'
      ? { kind: slo.kind, above: classOf(slo.above), below: classOf(slo.below) }
      : { kind: slo.kind, a: classOf(slo.a), b: classOf(slo.b), ratio: slo.ratio },
  );
  try {
    targetsOf({ classes: paths, slos });
    return [];
  } catch (error) {
    if (!(error instanceof BadProblem)) throw error;
    const pointer = error.field.replace('/slos/', '/class_slos/');
    return [
      {
        code: 'bad-objective',
        severity: 'error',
        message: `the objective ${error.detail.replaceAll('SLOs', 'objectives')}`,
        pointer,
      },
    ];
  }
}

/** Why an edge names no class; `null` when it does. */
function classFault(edge: string, { edges }: ChainDefinition, paths: readonly Path[] | null): string | null {
  if (!edges.some(({ id }) => id === edge)) return `there is no edge "${edge}"`;
  if (!paths) return `the chain has more than ${MAX_PATHS} paths, too many to tell apart`;
  const through = paths.filter((path) => path.edges.includes(edge)).length;
  if (through === 1) return null;
  return through === 0
    ? `no traffic takes edge "${edge}"`
    : `${through} paths use edge "${edge}", so it does not identify one class; choose an edge that only one path takes`;
}
