import { assignHops, hopConflict, hopDestinations, hopsOf, withHops, withHopsOfStaged } from '../../lower/hops.js';
import { lower } from '../../lower/lower.js';
import { missingPolicies } from '../../lower/schedulers.js';
import { tableUse } from '../../lower/switch/table-use.js';
import { mirrorsInSwitch } from '../../lower/switch-mirrors.js';
import { Infeasible, type LoweredDraft, type ScheduledDraft } from '../draft.js';

/** Desired state of every server and the fabric (E2 3.4.2), with the entries of each switch as installed. */
export function lowerGraph(draft: ScheduledDraft): LoweredDraft {
  const { chains, descriptors, infrastructure, base, switches = new Map(), abilities = {}, budget } = draft.input;
  const destinations = hopDestinations(draft.graph, mirrorsInSwitch(draft.graph, infrastructure, switches));
  const hops = assignHops(destinations, withHopsOfStaged(hopsOf(base), draft.graph, destinations));
  const tooMany = hopConflict(draft.graph, destinations, hops);
  if (!hops || tooMany) throw new Infeasible(draft, { conflicts: tooMany ? [tooMany] : [] });
  const graph = withHops(draft.graph, hops, draft.recall);
  const { layouts, guards, addresses, planned: schedules, recall } = draft;
  const placed = { graph, layouts, guards, addresses, schedules, switchNfs: draft.onSwitches.nfs };
  const about = { chains, descriptors, infrastructure, ...placed, base, recall };
  const { nodes, fabric } = lower(about);
  const missing = missingPolicies(nodes, abilities);
  if (missing.length > 0) throw new Infeasible(draft, { conflicts: missing });
  const then = { abilities: switches, before: draft.input.switches_before ?? switches };
  const { tables, conflicts } = tableUse(infrastructure, then, base?.fabric ?? null, fabric, budget);
  if (conflicts.length > 0) throw new Infeasible(draft, { conflicts: [...conflicts] });
  return { ...draft, graph, nodes, fabric, tables };
}
