import { slowestGhz } from '../../check/clock.js';
import { buildPGraph } from '../../igraph/pgraph.js';
import type { Draft } from '../draft.js';

/** The union of the chains, one node for each NF of each, with its load (E2 3.4.1 step 1). */
export function drawPolicyGraph(draft: Draft): Draft {
  const { chains, descriptors, infrastructure } = draft.input;
  return { ...draft, pgraph: buildPGraph(chains, descriptors, slowestGhz(infrastructure)) };
}
