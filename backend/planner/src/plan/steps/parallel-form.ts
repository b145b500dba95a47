import type { AssignedDraft, FormedDraft } from '../draft.js';
import { formedChains } from '../graphs.js';

/** Chains as drawn, or with parallel steps if they run in parallel (HydraNF 6). */
export function formChains(draft: AssignedDraft): FormedDraft {
  const { input, clockOf, pgraph, assignment, recall } = draft;
  return { ...draft, chainForms: formedChains(input, clockOf, pgraph, assignment.implementations, recall) };
}
