import { type Plan, PlanOptions } from '@orrery/contract';
import { requireTime } from '../../budget.js';
import { checkTogether } from '../../check/check-together.js';
import { slowestGhz } from '../../check/clock.js';
import { CHECK_STEPS, validateChain } from '../../check/validate.js';
import { NONE_ON_SWITCHES } from '../../offload/on-switches.js';
import type { Recall } from '../../recall.js';
import { type Draft, Infeasible } from '../draft.js';
import type { OfferedInput } from '../offered.js';
import { recallOf } from '../recall.js';

/** Every chain alone, then all of them together. */
export function check(input: OfferedInput): Draft {
  const options = PlanOptions.parse(input.options ?? {});
  const recall = recallOf(input, options);
  const slowest = slowestGhz(input.infrastructure);
  const clockOf = () => slowest;
  const nothing = {
    input,
    options,
    clockOf,
    problems: [],
    reasons: [],
    pgraph: { nodes: [], edges: [] },
    recall,
    onSwitches: NONE_ON_SWITCHES,
  };
  const problems = problemsOf(input, recall);
  if (problems.some(({ severity }) => severity === 'error')) throw new Infeasible(nothing, { problems });
  return { ...nothing, problems };
}

function problemsOf({ chains, descriptors, infrastructure, budget }: OfferedInput, recall: Recall): Plan['problems'] {
  const context = { descriptors, hosts: infrastructure.hosts };
  const alone = chains.flatMap(({ chain_id, definition }) =>
    recall
      .of('check', recall.nameOf(definition), () => {
        const found = validateChain(definition, context, { ...budget, steps: CHECK_STEPS });
        // What the clock ended says nothing about the chain.
        requireTime(budget);
        return found;
      })
      .map((it) => ({ ...it, chain_id })),
  );
  if (alone.some(({ severity }) => severity === 'error')) return alone;
  return [...alone, ...checkTogether(chains, descriptors, budget)];
}
