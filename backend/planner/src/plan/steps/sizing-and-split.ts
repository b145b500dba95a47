import { plannedChains } from '../../check/planned-chains.js';
import { missingAbilities } from '../../placement/from-graph.js';
import { type FormedDraft, Infeasible, type SplitDraft } from '../draft.js';
import { splitChains } from '../graphs.js';

/** As many instances of each NF as its load needs, joined so that flows keep theirs (E2 3.4.1 steps 2 and 3). */
export function split(draft: FormedDraft): SplitDraft {
  const { input, clockOf, assignment, chainForms, recall } = draft;
  const split = splitChains(input, clockOf, draft.pgraph, chainForms, assignment.implementations, recall);
  const { pgraph, graph: unplaced, reasons } = split;
  const after = { ...draft, pgraph, reasons: [...draft.reasons, ...reasons], unplaced };
  const conflicts = [
    ...missingAbilities(unplaced, input.infrastructure, input.abilities ?? {}, plannedChains(input.chains)),
    ...unplaced.conflicts,
    ...assignment.conflicts,
  ];
  if (conflicts.length > 0) throw new Infeasible(after, { conflicts });
  return after;
}
