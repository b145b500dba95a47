import { isPlanned, type Plan, type PlannedChain } from '@orrery/contract';
import { BadProblem } from '../../bad-problem.js';
import { improving, requireTime } from '../../budget.js';
import { type QueueOnEdge, withQueues } from '../../igraph/queues.js';
import { CORE_BUDGET } from '../../igraph/sizing.js';
import { type ChainSchedule, scheduleChain } from '../../schedule/schedule-forms.js';
import { obstacleTo, type PlannedSchedule, queuesOf } from '../../schedule/task-queues.js';
import { classRate } from '../../slo/class-forecasts.js';
import { coreKey, coreUse } from '../../slo/placed.js';
import { Attempts } from '../attempts.js';
import { chainNames } from '../chain-parts.js';
import { Infeasible, type PlacedDraft, type ScheduledDraft } from '../draft.js';

/** Rounding is no shortage. */
const SLACK = 1 + 1e-9;

/**
 * Tasks and scheduler of every chain (Alpine 5.3). Chains with a planned schedule get the queues at which their tasks begin;
 * of the others it is known what a schedule would give them.
 */
export function scheduleTasks(draft: PlacedDraft): ScheduledDraft {
  const { input, graph } = draft;
  const attempts = new Attempts(input.budget);
  const found: ChainSchedule[] = [];
  const planned: PlannedSchedule[] = [];
  const nameOf = chainNames(draft.recall, draft.pgraph, graph);
  for (const chain of input.chains) {
    if (isPlanned(chain.schedule)) {
      requireTime(input.budget);
      const schedule = plannedFor(draft, chain);
      planned.push(schedule);
      found.push(schedule);
    } else {
      const schedule = attempts.run('scheduling', chain.chain_id, () =>
        draft.recall.of('schedule', nameOf(chain), () => scheduleOf(draft, chain)),
      );
      if (schedule) found.push(schedule);
    }
  }
  const queues = planned.flatMap((each) => each.queues);
  const queued = withQueues(graph, queues);
  const conflicts = overbookedBy(queues, queued);
  if (conflicts.length > 0) throw new Infeasible(draft, { conflicts });
  return {
    ...draft,
    reasons: [...draft.reasons, ...attempts.reasons],
    unscheduled: graph,
    graph: queued,
    schedules: found,
    planned,
  };
}

/** Cores on which there is no room for the queues: NFs were placed before it was known where tasks begin. */
function overbookedBy(queues: readonly QueueOnEdge[], graph: PlacedDraft['graph']): Plan['conflicts'] {
  const cores = new Map(queues.map(({ node }) => [coreKey(node), node]));
  return [...cores].flatMap(([key, { server, core }]) => {
    const needed = coreUse(graph).get(key)!;
    if (needed <= CORE_BUDGET * SLACK) return [];
    const where = `${server}, core ${core}, with the queues of the schedule`;
    return { constraint: 'cpu', needed, available: CORE_BUDGET, unit: 'cores', where } as const;
  });
}

function scheduleOf({ input, options, graph, pgraph }: PlacedDraft, chain: PlannedChain): ChainSchedule | null {
  const { scheduling: strategy, scheduling_mode: mode } = options;
  const rateOf = (it: PlannedChain, path: Parameters<typeof classRate>[2]) => classRate(pgraph, it, path);
  return scheduleChain({ ...input, graph, rateOf, strategy, mode, expired: improving(input.budget).expired }, chain);
}

/** The schedule that the chain was asked to have. */
function plannedFor(draft: PlacedDraft, chain: PlannedChain): PlannedSchedule {
  const { graph, input } = draft;
  const refuse = (message: string): never => {
    const problem = {
      code: 'bad-schedule',
      severity: 'error',
      message,
      pointer: '',
      chain_id: chain.chain_id,
    } as const;
    throw new Infeasible(draft, { problems: [problem] });
  };
  const obstacle = obstacleTo(chain, graph);
  if (obstacle) return refuse(obstacle);
  const found = withinLimits(() => scheduleOf(draft, chain), refuse);
  if (!found) return refuse('No traffic is expected in the chain: a schedule needs an estimate of every path.');
  const { schedule } = found;
  if (!schedule.feasible) throw new Infeasible(draft, { conflicts: conflictsOf(found) });
  const held = queuesOf({ ...found, schedule }, graph, input.infrastructure);
  return 'because' in held ? refuse(held.because) : held;
}

function withinLimits<T>(make: () => T, refuse: (message: string) => never): T {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof BadProblem)) throw error;
    return refuse(`The chain is too large for a planned schedule: ${error.message}.`);
  }
}

function conflictsOf({ chain, schedule }: ChainSchedule): Plan['conflicts'] {
  if (schedule.feasible) return [];
  return schedule.conflicts.map(({ constraint, needed, available, unit }) => ({
    constraint,
    needed,
    available,
    unit,
    where: chain.definition.name,
  }));
}
