import {
  type ChainDefinition,
  type ChainProblem,
  DEFAULT_GOAL,
  DEFAULT_PERIOD_S,
  type NfDescriptor,
} from '@orrery/contract';

/** An outage shorter than this is not seen: objectives are judged once a second. */
const LEAST_BUDGET_S = 1;

/** What the goals of objectives allow can be told, and what those of the whole chain are judged by. */
export function checkGoals(
  { nodes, slos, class_slos }: ChainDefinition,
  descriptors: ReadonlyMap<string, NfDescriptor>,
): ChainProblem[] {
  const silent = nodes.find((node) => node.kind === 'nf' && isSilent(descriptors.get(node.nf)));
  const ofChain = slos.flatMap((slo, i): ChainProblem[] => {
    const problems = goalProblems(slo, `/slos/${i}`);
    if ((slo.kind === 'loss' || slo.kind === 'availability') && silent)
      problems.push({
        code: 'bad-objective',
        severity: 'warning',
        message: `the NF of "${silent.id}" drops packets without saying which ones it refuses, so the objective is out of date while packets are missing`,
        pointer: `/slos/${i}`,
      });
    return problems;
  });
  return [...ofChain, ...class_slos.flatMap((slo, i) => goalProblems(slo, `/class_slos/${i}`))];
}

type Goal = Pick<ChainDefinition['slos'][number], 'id' | 'goal' | 'period_s'>;

function goalProblems({ id, goal = DEFAULT_GOAL, period_s = DEFAULT_PERIOD_S }: Goal, pointer: string): ChainProblem[] {
  const allowed_s = (1 - goal) * period_s;
  // 1 - 0.999 is a little less than 0.001.
  if (allowed_s >= LEAST_BUDGET_S - 1e-6) return [];
  return [
    {
      code: 'bad-objective',
      severity: 'error',
      message: `the objective "${id}" may be missed for ${allowed_s.toPrecision(2)} s of its period, less than the second in which it is judged; lower the goal or choose a longer period`,
      pointer: `${pointer}/${goal === DEFAULT_GOAL ? 'period_s' : 'goal'}`,
    },
  ];
}

/** It drops packets on purpose, and its counters do not tell those from lost ones. */
function isSilent(descriptor: NfDescriptor | undefined): boolean {
  return descriptor?.actions.may_drop === true && descriptor.actions.refuses === undefined;
}
