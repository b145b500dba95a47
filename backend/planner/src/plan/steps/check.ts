import { type Plan, PlanOptions } from '@orrery/contract';
import { checkTogether } from '../../check/check-together.js';
import { validateChain } from '../../check/validate.js';
import { type Draft, Infeasible } from '../draft.js';
import type { OfferedInput } from '../offered.js';

/** Every chain alone, then all of them together. */
export function check(input: OfferedInput): Draft {
  const options = PlanOptions.parse(input.options ?? {});
  const nothing = { input, options, problems: [], reasons: [], pgraph: { nodes: [], edges: [] } };
  const problems = problemsOf(input);
  if (problems.some(({ severity }) => severity === 'error')) throw new Infeasible(nothing, { problems });
  return { ...nothing, problems };
}

function problemsOf({ chains, descriptors, infrastructure }: OfferedInput): Plan['problems'] {
  const alone = chains.flatMap(({ chain_id, definition }) =>
    validateChain(definition, { descriptors, hosts: infrastructure.hosts }).map((it) => ({ ...it, chain_id })),
  );
  if (alone.some(({ severity }) => severity === 'error')) return alone;
  return [...alone, ...checkTogether(chains, descriptors)];
}
