import { assignImplementations } from '../../accelerator/assignment.js';
import { slowestGhz } from '../../check/clock.js';
import { buildPGraph } from '../../igraph/pgraph.js';
import { type AssignedDraft, type Draft, Infeasible } from '../draft.js';

/** Software, a container or a slot of a board for each NF. */
export function chooseWhereNfsRun(draft: Draft): AssignedDraft {
  const { chains, descriptors, infrastructure } = draft.input;
  const assignment = assignImplementations(draft.input, draft.pgraph);
  const { problems, implementations } = assignment;
  if (problems.length > 0) throw new Infeasible({ ...draft, pgraph: NONE }, { problems });
  return {
    ...draft,
    assignment,
    pgraph: buildPGraph(chains, descriptors, slowestGhz(infrastructure), implementations),
  };
}

const NONE = { nodes: [], edges: [] };
