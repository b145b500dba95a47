import type { Draft } from '../draft.js';
import { policyGraph } from '../graphs.js';

/** The union of the chains, one node for each NF of each, with its load (E2 3.4.1 step 1). */
export function drawPolicyGraph(draft: Draft): Draft {
  return { ...draft, pgraph: policyGraph(draft.input, draft.clockOf, new Map(), draft.recall) };
}
