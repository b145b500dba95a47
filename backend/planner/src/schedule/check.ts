import { BadProblem, requireAtLeast, requireAtMost, requireIndex } from '../bad-problem.js';
import { MAX_CLASSES, MAX_MODULES, MAX_SLOS, MAX_WORKERS, type ScheduleProblem } from './problem.js';

/** Errors: `BadProblem` for an invalid graph, classes or SLOs. */
export function checkProblem(problem: ScheduleProblem): void {
  const { modules, edges, classes, slos, workers, costs } = problem;
  requireAtMost('/modules', modules.length, MAX_MODULES);
  requireAtMost('/classes', classes.length, MAX_CLASSES);
  requireAtMost('/slos', slos.length, MAX_SLOS);
  requireAtMost('/edges', edges.length, 8 * MAX_MODULES);
  if (classes.length === 0) throw new BadProblem('/classes', 'must name at least one traffic class');
  modules.forEach(({ cycles_per_packet }, i) => {
    requireAtLeast(`/modules/${i}/cycles_per_packet`, cycles_per_packet, 0, true);
  });
  edges.forEach(({ from, to }, i) => {
    requireIndex(`/edges/${i}/from`, from, modules.length);
    requireIndex(`/edges/${i}/to`, to, modules.length);
  });
  checkPaths(problem);
  slos.forEach((slo, i) => {
    const [a, b] = slo.kind === 'priority' ? (['above', 'below'] as const) : (['a', 'b'] as const);
    const ends = slo as unknown as Record<string, number>;
    requireIndex(`/slos/${i}/${a}`, ends[a]!, classes.length);
    requireIndex(`/slos/${i}/${b}`, ends[b]!, classes.length);
    if (ends[a] === ends[b]) throw new BadProblem(`/slos/${i}/${b}`, 'is the class itself');
    if (slo.kind !== 'priority') requireAtLeast(`/slos/${i}/ratio`, slo.ratio, 0, true);
  });
  requireAtLeast('/workers/count', workers.count, 1);
  if (!Number.isInteger(workers.count)) throw new BadProblem('/workers/count', 'must be a whole number');
  requireAtMost('/workers/count', workers.count, MAX_WORKERS);
  requireAtLeast('/workers/cycles_per_second', workers.cycles_per_second, 0, true);
  requireAtLeast('/costs/queue_cycles_per_packet', costs.queue_cycles_per_packet, 0);
  if (costs.classifier_cycles_per_packet !== null)
    requireAtLeast('/costs/classifier_cycles_per_packet', costs.classifier_cycles_per_packet, 0);
}

/** Every class goes from a source to an exit along edges, and every module serves a class. */
function checkPaths({ modules, edges, classes }: ScheduleProblem): void {
  const n = modules.length;
  const known = new Set(edges.map(({ from, to }) => from * n + to));
  const entered = new Set(edges.map(({ to }) => to));
  const left = new Set(edges.map(({ from }) => from));
  const served = new Uint8Array(n);
  classes.forEach(({ path, rate_pps }, c) => {
    const field = `/classes/${c}`;
    requireAtLeast(`${field}/rate_pps`, rate_pps, 0, true);
    if (path.length === 0) throw new BadProblem(`${field}/path`, 'is empty');
    requireAtMost(`${field}/path`, path.length, n);
    if (new Set(path).size < path.length) throw new BadProblem(`${field}/path`, 'visits a module twice');
    path.forEach((module, i) => {
      requireIndex(`${field}/path/${i}`, module, n);
      served[module] = 1;
      if (i > 0 && !known.has(path[i - 1]! * n + module))
        throw new BadProblem(`${field}/path/${i}`, `has no edge from module ${path[i - 1]}`);
    });
    if (entered.has(path[0]!)) throw new BadProblem(`${field}/path/0`, 'is not a source: an edge leads to it');
    const last = path.length - 1;
    if (left.has(path[last]!)) throw new BadProblem(`${field}/path/${last}`, 'is not an exit: an edge leaves it');
  });
  const unserved = served.indexOf(0);
  if (unserved >= 0) throw new BadProblem(`/modules/${unserved}`, 'is on the path of no traffic class');
}
