import type { Infrastructure, NfDescriptor, Plan, PlannedPipeline, PlanStrategy } from '@orrery/contract';
import type { Budget } from './budget.js';
import { buildPGraph } from './igraph/pgraph.js';
import { buildIGraph, type InstanceGraph } from './igraph/split.js';
import { splitReason } from './igraph/split-reason.js';
import { type AddressOwner, assignAddresses, configuredAddresses } from './interconnection/addresses.js';
import { classifyEntries } from './interconnection/fabric.js';
import { assignHops, hopKey, hopsOf, MAX_HOP, MAX_HOPS_A_SERVER } from './interconnection/hops.js';
import { layOutMetadata, type MetadataLayout, runningLayout } from './interconnection/metadata.js';
import { hopDestinations, interconnect } from './interconnection/specs.js';
import { indexDescriptors } from './pipeline/attributes.js';
import { checkTogether } from './pipeline/check-together.js';
import { validatePipeline } from './pipeline/validate.js';
import { crossTrafficBound } from './placement/lower-bound.js';
import { type Placement, place } from './placement/place.js';
import { binsOf, type Constraint, type Place, problemOf } from './placement/problem.js';
import { placementReason, stuckReason } from './placement/reasons.js';
import { predictSlos } from './slo/predict.js';
import { diffOf } from './transition/diff.js';
import { stepsBetween } from './transition/steps.js';

/** Everything that a plan depends on: the same input gives the same plan. */
export interface PlanInput {
  readonly id: string;
  readonly created_ms: number;
  readonly strategy: PlanStrategy;
  readonly seed: number;
  /** All pipelines that must run afterwards, not only those that change. */
  readonly pipelines: readonly PlannedPipeline[];
  readonly descriptors: readonly NfDescriptor[];
  /** Only the servers given here may be used. */
  readonly infrastructure: Infrastructure;
  /** The feasible plan that runs now: its instances stay where they are. */
  readonly base: Plan | null;
  /** Steps of the placement search; 0 leaves the placement as it was packed. */
  readonly budget: Budget;
}

/**
 * Plans without side effects: a dry run shows the result and a deployment applies it. A plan that is not feasible says
 * what is short or wrong, asks for exactly what runs now, and has no steps.
 */
export function makePlan(input: PlanInput): Plan {
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

function planSound(input: PlanInput, problems: Plan['problems']): Plan {
  const { pipelines, descriptors, infrastructure, base } = input;
  const slowest = Math.min(10, ...infrastructure.servers.map(({ ghz }) => ghz));
  const pgraph = buildPGraph(pipelines, descriptors, slowest);
  const graph = buildIGraph(pgraph, pipelines, descriptors);
  const counts = new Map<string, number>();
  for (const { pgraph_node } of graph.instances) counts.set(pgraph_node, (counts.get(pgraph_node) ?? 0) + 1);
  pgraph.nodes = pgraph.nodes.map((node) => ({ ...node, instances: counts.get(node.id)! }));
  const reasons: Plan['reasons'] = pgraph.nodes.map((node) => splitReason(node, graph.partitions.get(node.id)!));
  if (graph.conflicts.length > 0)
    return infeasible(input, { problems, pgraph, reasons, conflicts: [...graph.conflicts] });

  const owners = addressOwners(input, graph);
  const { addresses, shortages } = assignAddresses(owners, base);
  if (shortages.length > 0) {
    const found = shortages.map(({ node, needed, available }): Plan['problems'][number] => {
      const at = pgraph.nodes.find(({ id }) => id === node)!;
      const { definition } = pipelines.find(({ pipeline_id }) => pipeline_id === at.pipeline_id)!;
      return {
        pipeline_id: at.pipeline_id,
        code: 'bad-config',
        severity: 'error',
        message: `${needed} instances need an external address each; there are ${available}`,
        pointer: `/nodes/${definition.nodes.findIndex(({ id }) => id === at.node_id)}/config/external_addresses`,
        node: at.node_id,
      };
    });
    return infeasible(input, { problems: [...problems, ...found], pgraph, reasons });
  }
  const returning = new Set(owners.flatMap(({ instances }) => instances));
  const layouts = layoutsOf(input);
  const bins = binsOf(infrastructure);
  const table = tableOf(input, layouts, [...addresses.values()].flat().length);
  const problem = problemOf(graph, bins, table, returning);
  const pinned = pins(input, graph);
  const placement = place(problem, {
    strategy: input.strategy,
    seed: input.seed,
    budget: input.budget,
    pinned,
  });
  if (!placement.feasible) {
    return infeasible(input, {
      problems,
      pgraph,
      reasons: placement.stuck === null ? reasons : [...reasons, stuckReason(placement.state, placement.stuck)],
      conflicts: [...placement.conflicts],
    });
  }
  const { state } = placement;
  const instances = placedInstances(graph, placement, bins);
  const destinations = hopDestinations(instances, graph.edges, returning);
  const hops = assignHops(destinations, hopsOf(base));
  const tooMany = hopConflict(instances, destinations, hops);
  if (!hops || tooMany) return infeasible(input, { problems, pgraph, reasons, conflicts: tooMany ? [tooMany] : [] });

  const server = new Map(instances.map((instance) => [instance.id, instance.server]));
  const edges = graph.edges.map((edge): Plan['edges'][number] => {
    const crosses = edge.from !== null && edge.to !== null && server.get(edge.from) !== server.get(edge.to);
    const hop = edge.to !== null && (crosses || edge.from === null) ? hops.get(hopKey(edge.to, 'forward'))! : null;
    return { ...edge, crosses_switch: crosses, hop };
  });
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
  const sum = (values: number[]) => values.reduce((a, b) => a + b, 0);
  return {
    ...header(input),
    feasible: true,
    problems,
    conflicts: [],
    pgraph,
    instances,
    edges,
    cost: {
      cross_traffic_bps: sum(edges.map(({ crosses_switch, rate_bps }) => (crosses_switch ? rate_bps : 0))),
      lower_bound_bps: crossTrafficBound(problem),
      total_traffic_bps: sum(edges.map(({ from, to, rate_bps }) => (from !== null && to !== null ? rate_bps : 0))),
      cores_used: sum(instances.map(({ core_share }) => core_share)),
      cores_available: sum(infrastructure.servers.map(({ cores }) => cores)),
    },
    reasons: [...reasons, ...instances.map((_, item) => placementReason(state, item, input.strategy, stays(item)))],
    slos: predictSlos({ pipelines, descriptors, infrastructure, bins, instances, edges, returning }),
    nodes,
    fabric,
    steps: stepsBetween(
      base,
      { nodes, fabric },
      infrastructure.servers.map(({ id }) => id),
    ),
    diff: diffOf(base, instances, nodes),
  };
}

function header({ id, created_ms, strategy, seed, base, pipelines }: PlanInput) {
  return { id, created_ms, strategy, seed, base_plan: base?.id ?? null, pipelines: [...pipelines] };
}

function infeasible(
  input: PlanInput,
  found: Partial<Pick<Plan, 'problems' | 'pgraph' | 'reasons' | 'conflicts'>>,
): Plan {
  const { base, infrastructure } = input;
  return {
    ...header(input),
    feasible: false,
    problems: [],
    conflicts: [],
    pgraph: { nodes: [], edges: [] },
    reasons: [],
    ...found,
    instances: [],
    edges: [],
    cost: {
      cross_traffic_bps: 0,
      lower_bound_bps: 0,
      total_traffic_bps: 0,
      cores_used: 0,
      cores_available: infrastructure.servers.reduce((sum, { cores }) => sum + cores, 0),
    },
    slos: [],
    nodes: base?.nodes ?? {},
    fabric: base?.fabric ?? { generation: 0, rules: [] },
    steps: [],
    diff: { added: [], removed: [], moved: [], reconfigured: [], kept: [] },
  };
}

function addressOwners({ pipelines, descriptors }: PlanInput, graph: InstanceGraph): AddressOwner[] {
  const catalogue = indexDescriptors(descriptors);
  return pipelines.flatMap(({ definition }) =>
    definition.nodes.flatMap((node) => {
      const descriptor = node.kind === 'nf' ? catalogue.get(node.nf)! : null;
      if (node.kind !== 'nf' || !descriptor?.return_traffic) return [];
      const id = `${definition.name}.${node.id}`;
      const instances = graph.instances.filter(({ pgraph_node }) => pgraph_node === id).map((it) => it.id);
      return [{ node: id, instances, configured: configuredAddresses(node.config) }];
    }),
  );
}

function layoutsOf({ pipelines, descriptors, base }: PlanInput): Map<string, MetadataLayout> {
  return new Map(
    pipelines.map(({ pipeline_id, definition }) => [
      definition.name,
      layOutMetadata(definition, descriptors, runningLayout(base, pipeline_id)).layout!,
    ]),
  );
}

/** Entries that the fabric holds before any hop between servers: hosts' addresses, classes and returned addresses. */
function tableOf(
  { pipelines, infrastructure }: PlanInput,
  layouts: ReadonlyMap<string, MetadataLayout>,
  returned: number,
): { fixed: number; available: number; where: string } {
  const classes = pipelines.reduce((sum, { definition }) => sum + classifyEntries(definition, layouts), 0);
  const smallest = infrastructure.switches.toSorted((a, b) => a.table_entries - b.table_entries)[0];
  return {
    fixed: infrastructure.hosts.length + classes + returned,
    available: smallest?.table_entries ?? 0,
    where: smallest?.id ?? 'infrastructure',
  };
}

function pins({ base, infrastructure }: PlanInput, graph: InstanceGraph): (Place | null)[] {
  const running = new Map(base?.instances.map((instance) => [instance.id, instance]));
  const bins = new Map(infrastructure.servers.map(({ id }, i) => [id, i]));
  return graph.instances.map(({ id, nf }) => {
    const instance = running.get(id);
    const bin = instance?.nf === nf ? bins.get(instance.server) : undefined;
    return instance && bin !== undefined ? { bin, core: instance.core } : null;
  });
}

function placedInstances(
  graph: InstanceGraph,
  { state }: Placement,
  bins: ReturnType<typeof binsOf>,
): Plan['instances'] {
  return graph.instances.map((instance, item) => {
    const { id, pgraph_node, pipeline_id, node_id, nf, ordinal, driver, load_bps } = instance;
    const bin = state.bin[item]!;
    return {
      id,
      pgraph_node,
      pipeline_id,
      node_id,
      nf,
      ordinal,
      driver,
      server: bins[bin]!.id,
      core: state.core[item]!,
      load_bps,
      core_share: state.share(item, bin),
    };
  });
}

function hopConflict(
  instances: Plan['instances'],
  destinations: readonly string[],
  hops: ReadonlyMap<string, number> | null,
): Constraint | null {
  if (!hops) {
    const needed = destinations.length;
    return { constraint: 'hops', needed, available: MAX_HOP, unit: 'hops', where: 'fabric' };
  }
  const used = new Map<string, number>();
  for (const { id, server } of instances) {
    for (const direction of ['forward', 'return'] as const) {
      if (hops.has(hopKey(id, direction))) used.set(server, (used.get(server) ?? 0) + 1);
    }
  }
  for (const [where, needed] of used) {
    if (needed > MAX_HOPS_A_SERVER)
      return { constraint: 'hops', needed, available: MAX_HOPS_A_SERVER, unit: 'hops', where };
  }
  return null;
}
