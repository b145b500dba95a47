import { type Plan, PlanOptions } from '@orrery/contract';
import type { PlanInput } from './input.js';

/** What every plan of the input begins with. */
export function header({ id, created_ms, options, base, pipelines, infrastructure_revision = 0 }: PlanInput) {
  return {
    id,
    created_ms,
    ...PlanOptions.parse(options ?? {}),
    infrastructure_revision,
    base_plan: base?.id ?? null,
    pipelines: [...pipelines],
  };
}

/** A plan that says what is short or wrong, asks for exactly what runs now, and has no steps. */
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
    instances: [],
    edges: [],
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
    offloads: [],
    slos: [],
    nodes: base?.nodes ?? {},
    fabric: base?.fabric ?? { generation: 0, rules: [] },
    migrations: [],
    abandoned: [],
    steps: [],
    diff: { added: [], removed: [], moved: [], reconfigured: [], kept: [] },
  };
}
