import type { Plan } from '@orrery/contract';
import { header } from './header.js';
import type { PlanInput } from './input.js';

/** An infeasible plan: names the shortages or errors, keeps exactly what runs now, and has no steps. */
export function infeasible(
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
    graph: { nodes: [], edges: [] },
    cost: {
      cross_traffic_bps: 0,
      lower_bound_bps: 0,
      total_traffic_bps: 0,
      cores_used: 0,
      cores_available: infrastructure.servers.reduce((sum, { cores }) => sum + cores, 0),
    },
    quality: [],
    classes: [],
    parallel: [],
    schedules: [],
    splits: [],
    offloads: [],
    slos: [],
    nodes: base?.nodes ?? {},
    fabric: base?.fabric ?? { generation: 0, rules: [] },
    tables: [],
    migrations: [],
    abandoned: [],
    steps: [],
    diff: { added: [], removed: [], moved: [], reconfigured: [], kept: [] },
  };
}
