import { assignImplementations } from '../../accelerator/assignment.js';
import { limitProblems } from '../../check/cpu-limit.js';
import { type AssignedDraft, type Draft, Infeasible } from '../draft.js';
import { policyGraph } from '../graphs.js';

/** Software, a container or a slot of a board for each NF. */
export function chooseWhereNfsRun(draft: Draft): AssignedDraft {
  const assignment = assignImplementations(draft.input, draft.pgraph, draft.input.budget);
  const { implementations } = assignment;
  const { chains, descriptors } = draft.input;
  const problems = [...assignment.problems, ...limitProblems(chains, descriptors, implementations)];
  if (problems.length > 0) throw new Infeasible({ ...draft, pgraph: NONE }, { problems });
  return {
    ...draft,
    assignment,
    pgraph: policyGraph(draft.input, draft.clockOf, implementations, draft.recall),
  };
}

const NONE = { nodes: [], edges: [] };
