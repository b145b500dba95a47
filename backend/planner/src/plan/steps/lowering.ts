import { assignHops, hopConflict, hopDestinations, hopsOf, withHops } from '../../lower/hops.js';
import { lower } from '../../lower/lower.js';
import { missingPolicies } from '../../lower/schedulers.js';
import { tableUse } from '../../lower/switch/table-use.js';
import { Infeasible, type LoweredDraft, type ScheduledDraft } from '../draft.js';

/** Desired state of every server and the fabric (E2 3.4.2), with the entries of each switch as installed. */
export function lowerGraph(draft: ScheduledDraft): LoweredDraft {
  const {
    chains,
    descriptors,
    infrastructure,
    base,
    before = null,
    switches = new Map(),
    abilities = {},
  } = draft.input;
  const destinations = hopDestinations(draft.graph);
  const hops = assignHops(destinations, new Map([...hopsOf(before), ...hopsOf(base)]));
  const tooMany = hopConflict(draft.graph, destinations, hops);
  if (!hops || tooMany) throw new Infeasible(draft, { conflicts: tooMany ? [tooMany] : [] });
  const graph = withHops(draft.graph, hops);
  const { layouts, addresses, planned: schedules } = draft;
  const { nodes, fabric } = lower({ chains, descriptors, infrastructure, graph, layouts, addresses, schedules, base });
  const missing = missingPolicies(nodes, abilities);
  if (missing.length > 0) throw new Infeasible(draft, { conflicts: missing });
  const { tables, conflicts } = tableUse(infrastructure, switches, base?.fabric ?? null, fabric);
  if (conflicts.length > 0) throw new Infeasible(draft, { conflicts: [...conflicts] });
  return { ...draft, graph, nodes, fabric, tables };
}
