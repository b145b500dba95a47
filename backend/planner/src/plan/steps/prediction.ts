import { nfInstances, type Plan } from '@orrery/contract';
import { abandonedBy } from '../../accelerator/assignment.js';
import { requireTime } from '../../budget.js';
import { placedNodes } from '../../igraph/graph.js';
import { switchInstances } from '../../offload/switch-instances.js';
import { binsOf } from '../../placement/problem.js';
import { hopelessObjectives } from '../../slo/hopeless.js';
import { linkedSlots } from '../../slot-links.js';
import { diffOf } from '../../transition/diff.js';
import { withDriverSteps } from '../../transition/driver-steps.js';
import { movedJoints } from '../../transition/joints.js';
import { lostState } from '../../transition/lost-state.js';
import { migrationsBetween } from '../../transition/migrations.js';
import { stepsBetween } from '../../transition/steps.js';
import { analyse, placementQuality } from '../analysis.js';
import type { LoweredDraft } from '../draft.js';
import { header } from '../header.js';
import { plannedSplits } from '../planned-splits.js';
import { trafficOf } from '../traffic.js';

/** Analysis of the plan, and its steps from what runs now. */
export function predictPlan(draft: LoweredDraft): Plan {
  const {
    input,
    options,
    assignment,
    clockOf,
    pgraph,
    graph,
    unscheduled,
    schedules,
    nodes,
    fabric,
    tables,
    cut_bps,
    bound,
  } = draft;
  const { chains, descriptors, infrastructure, calibration, base, container_servers, budget, drivers = [] } = input;
  const { reasons, quality, ...analysis } = analyse(
    {
      chains,
      descriptors,
      infrastructure,
      calibration,
      bins: binsOf(infrastructure),
      pgraph,
      graph,
      container_servers,
    },
    { unscheduled, schedules, clockOf },
    assignment,
    options,
    { entries_used: Math.max(0, ...tables.map(({ entries }) => entries)), switches: input.switches },
    draft.recall,
    budget,
  );
  requireTime(budget);
  const lost = new Set(input.lost_servers);
  const servers = infrastructure.servers.flatMap(({ id }) => (lost.has(id) ? [] : [id]));
  const slots = [...linkedSlots(infrastructure).keys()];
  const abandoned = abandonedBy(input, graph);
  const instances = nfInstances(graph);
  const migrations = migrationsBetween(base, instances, descriptors);
  const switched = switchInstances(draft);
  const splits = plannedSplits(graph, chains, descriptors);
  const moved = new Set(movedJoints(base, graph));
  const steps = stepsBetween(base, { nodes, fabric }, servers, slots, new Set(abandoned), moved);
  return {
    ...header(input),
    feasible: true,
    problems: [
      ...draft.problems,
      ...hopelessObjectives(analysis, chains),
      ...lostState(base, graph, splits, migrations, { chains, descriptors, lost }),
    ],
    conflicts: [],
    pgraph,
    graph,
    cost: costOf(graph, bound.lower_bound_bps, infrastructure, input.exclusions),
    ...analysis,
    ...switched,
    splits,
    quality: [placementQuality(cut_bps, bound, options.strategy), ...quality],
    reasons: [...draft.reasons, ...reasons],
    nodes,
    fabric,
    tables,
    migrations: migrations.filter(({ from }) => !abandoned.includes(from)),
    abandoned,
    steps: withDriverSteps(steps, drivers, base, infrastructure),
    diff: diffOf(base, { graph, nodes, fabric, ...switched }),
  };
}

function costOf(
  graph: Plan['graph'],
  lower_bound_bps: number,
  { servers }: LoweredDraft['input']['infrastructure'],
  exclusions: ReadonlyMap<string, string>,
): Plan['cost'] {
  const nodes = placedNodes(graph);
  const { cross_bps, total_bps } = trafficOf(graph);
  const sum = (values: number[]) => values.reduce((a, b) => a + b, 0);
  return {
    cross_traffic_bps: cross_bps,
    lower_bound_bps,
    total_traffic_bps: total_bps,
    cores_used: sum(nodes.map(({ core_share }) => core_share)),
    cores_available: sum(servers.map(({ id, cores }) => (exclusions.has(id) ? 0 : cores))),
  };
}
