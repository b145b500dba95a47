import { type Plan, PlanOptions } from '@orrery/contract';
import { abandonedBy, assignForms } from '../accelerator/assignment.js';
import { buildPGraph } from '../igraph/pgraph.js';
import { splitReason } from '../igraph/split-reason.js';
import { addressOwners, addressProblem, assignAddresses } from '../interconnection/addresses.js';
import { fixedEntries } from '../interconnection/fabric.js';
import { assignHops, crossingEdges, hopConflict, hopsOf, withHops } from '../interconnection/hops.js';
import { metadataLayouts } from '../interconnection/metadata.js';
import { hopDestinations, interconnect } from '../interconnection/specs.js';
import { checkTogether } from '../pipeline/check-together.js';
import { slowestGhz } from '../pipeline/clock.js';
import { validatePipeline } from '../pipeline/validate.js';
import { boundPlacement } from '../placement/bound.js';
import { hostsOf, placedInstances, quickEffort, runningPlaces } from '../placement/from-graph.js';
import { binsOf, problemOf } from '../placement/problem.js';
import { placementReason, stuckReason } from '../placement/reasons.js';
import type { PlacementState } from '../placement/state.js';
import { hopelessObjectives } from '../slo/hopeless.js';
import { predictSlos } from '../slo/predict.js';
import { diffOf } from '../transition/diff.js';
import { migrationsBetween, predecessors } from '../transition/migrations.js';
import { stepsBetween } from '../transition/steps.js';
import { analyse, placementQuality } from './analysis.js';
import { sizedGraphs } from './graphs.js';
import { header, infeasible } from './infeasible.js';
import type { PlanInput } from './input.js';
import { type OfferedInput, offeredBy } from './offered.js';
import { placeForObjectives } from './place-for-objectives.js';

/**
 * Plans without side effects: a dry run shows the result and a deployment applies it. A plan that is not feasible says
 * what is short or wrong, asks for exactly what runs now, and has no steps.
 */
export function makePlan(asked: PlanInput): Plan {
  const input = offeredBy(asked);
  const problems = problemsOf(input);
  if (problems.some(({ severity }) => severity === 'error')) return infeasible(input, { problems });
  return planSound(input, problems);
}

function problemsOf({ pipelines, descriptors, infrastructure }: PlanInput): Plan['problems'] {
  const alone = pipelines.flatMap(({ pipeline_id, definition }) =>
    validatePipeline(definition, { descriptors, hosts: infrastructure.hosts }).map((it) => ({ ...it, pipeline_id })),
  );
  if (alone.some(({ severity }) => severity === 'error')) return alone;
  return [...alone, ...checkTogether(pipelines, descriptors)];
}

function planSound(input: OfferedInput, problems: Plan['problems']): Plan {
  const { pipelines, descriptors, infrastructure, base, budget } = input;
  const options = PlanOptions.parse(input.options ?? {});
  const assignment = assignForms(input, buildPGraph(pipelines, descriptors, slowestGhz(infrastructure)));
  if (assignment.problems.length > 0) return infeasible(input, { problems: [...problems, ...assignment.problems] });
  const { pgraph, graph } = sizedGraphs(input, assignment.forms);
  const sizing = pgraph.nodes.map((node) => splitReason(node, graph.partitions.get(node.id)!));
  const refuse = (found: Partial<Pick<Plan, 'problems' | 'reasons' | 'conflicts'>>) =>
    infeasible(input, { problems, pgraph, reasons: sizing, ...found });
  const missing = [...graph.conflicts, ...assignment.conflicts];
  if (missing.length > 0) return refuse({ conflicts: missing });

  const owners = addressOwners(pipelines, descriptors, graph);
  const { addresses, shortages } = assignAddresses(owners, base, predecessors(base, graph.instances));
  if (shortages.length > 0)
    return refuse({ problems: [...problems, ...shortages.map((it) => addressProblem(it, pgraph, pipelines))] });

  const returning = new Set(owners.flatMap(({ instances }) => instances));
  const layouts = metadataLayouts(pipelines, descriptors, base);
  const bins = binsOf(infrastructure);
  const table = fixedEntries(pipelines, infrastructure, layouts, [...addresses.values()].flat().length);
  const hosts = hostsOf(graph, infrastructure, input.container_servers);
  const problem = problemOf(graph, bins, table, returning, hosts);
  const pinned = runningPlaces(graph, [input.before ?? null, base], infrastructure);
  const { strategy, seed } = options;
  const about = { pipelines, descriptors, infrastructure, bins, pgraph, returning };
  const missed = (it: PlacementState) => {
    const standing = placedInstances(graph, it, bins);
    const slos = predictSlos({ ...about, instances: standing, edges: crossingEdges(graph.edges, standing) });
    return slos.filter(({ kind, met }) => kind === 'latency' && !met).length;
  };
  const { placement, reasons: why } = placeForObjectives(problem, { strategy, seed, budget, pinned }, missed);
  if (!placement.feasible) {
    const { stuck, conflicts, proven } = placement;
    const reasons = stuck === null ? sizing : [...sizing, stuckReason(placement.state, stuck, proven)];
    return refuse({ reasons, conflicts: [...conflicts] });
  }
  const { state } = placement;
  const instances = placedInstances(graph, state, bins);
  const destinations = hopDestinations(instances, graph.edges, returning);
  const hops = assignHops(destinations, new Map([...hopsOf(input.before ?? null), ...hopsOf(base)]));
  const tooMany = hopConflict(instances, destinations, hops);
  if (!hops || tooMany) return refuse({ conflicts: tooMany ? [tooMany] : [] });

  const edges = withHops(crossingEdges(graph.edges, instances), hops);
  const { nodes, fabric } = interconnect({
    pipelines,
    descriptors,
    infrastructure,
    instances,
    edges: graph.edges,
    layouts,
    hops,
    addresses,
    base,
  });
  const stays = (item: number) => pinned[item] !== null && pinned[item]!.bin === state.bin[item];
  const bound = boundPlacement(problem, state.cut, quickEffort(graph.instances.length));
  const { reasons, quality, ...analysis } = analyse(
    { ...about, instances, edges, container_servers: input.container_servers },
    assignment,
    options,
    fabric.rules.length,
    budget.expired,
  );
  const servers = infrastructure.servers.map(({ id }) => id);
  const abandoned = abandonedBy(input, instances);
  return {
    ...header(input),
    feasible: true,
    problems: [...problems, ...hopelessObjectives(analysis, pipelines)],
    conflicts: [],
    pgraph,
    instances,
    edges,
    cost: costOf(instances, edges, bound.lower_bound_bps, infrastructure),
    ...analysis,
    quality: [placementQuality(state.cut, bound, strategy), ...quality],
    reasons: [
      ...sizing,
      ...why,
      ...instances.map((_, item) => placementReason(state, item, strategy, stays(item))),
      ...reasons,
    ],
    nodes,
    fabric,
    migrations: migrationsBetween(base, instances, descriptors).filter(({ from }) => !abandoned.includes(from)),
    abandoned,
    steps: stepsBetween(base, { nodes, fabric }, servers, new Set(abandoned)),
    diff: diffOf(base, instances, nodes),
  };
}

function costOf(
  instances: Plan['instances'],
  edges: Plan['edges'],
  lower_bound_bps: number,
  { servers }: PlanInput['infrastructure'],
): Plan['cost'] {
  const sum = (values: number[]) => values.reduce((a, b) => a + b, 0);
  return {
    cross_traffic_bps: sum(edges.map(({ crosses_switch, rate_bps }) => (crosses_switch ? rate_bps : 0))),
    lower_bound_bps,
    total_traffic_bps: sum(edges.map(({ from, to, rate_bps }) => (from !== null && to !== null ? rate_bps : 0))),
    cores_used: sum(instances.map(({ core_share }) => core_share)),
    cores_available: sum(servers.map(({ cores }) => cores)),
  };
}
