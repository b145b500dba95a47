import { type InstanceGraph, nfInstances } from '@orrery/contract';
import { unplacedInstances } from '../../igraph/graph.js';
import { addressOwners, addressProblem, assignAddresses } from '../../lower/addresses.js';
import { metadataLayouts } from '../../lower/metadata.js';
import { rulesBeforeHops, tableBeforeHops } from '../../lower/switch/table-use.js';
import { binsOf } from '../../placement/problem.js';
import { predecessors } from '../../transition/migrations.js';
import { renamed, successors, withRunningNames } from '../../transition/succession.js';
import { Infeasible, type PlacedDraft, type SplitDraft } from '../draft.js';
import { placeInstances } from '../place-instances.js';
import { gatherForSchedules } from '../schedule-cores.js';

/** Of what leaves its core, the instances that become new ones: mirrors and merges keep nothing, a slot keeps its own. */
function movingOf(graph: InstanceGraph, displaced: readonly string[]): string[] {
  if (displaced.length === 0) return [];
  return nfInstances(graph).flatMap(({ id, driver }) => (displaced.includes(id) && driver !== 'board' ? [id] : []));
}

/** A core for every node (E2 3.4.1 step 4). Placement needs to know what the switches must hold wherever nodes stand. */
export function placeNodes(draft: SplitDraft): PlacedDraft {
  const { input, options, pgraph, recall } = draft;
  const { chains, descriptors, infrastructure, calibration, base, switches = new Map() } = input;
  const unplaced = withRunningNames(draft.unplaced, base, recall);
  const { addresses, shortages } = assignAddresses(
    addressOwners(chains, descriptors, unplaced),
    base,
    predecessors(base, unplacedInstances(unplaced)),
  );
  if (shortages.length > 0)
    throw new Infeasible(draft, { problems: shortages.map((it) => addressProblem(it, pgraph, chains)) });
  const layouts = metadataLayouts(chains, descriptors, base, recall);
  const rules = rulesBeforeHops(infrastructure, chains, layouts, recall, input.guarded);
  const needed = tableBeforeHops(infrastructure, switches, rules, [...addresses.values()].flat(), input.budget);
  if (needed.conflicts.length > 0) throw new Infeasible(draft, { conflicts: [...needed.conflicts] });
  const about = { chains, descriptors, infrastructure, bins: binsOf(infrastructure), pgraph, calibration };
  const placed = placeInstances(input, options, about, unplaced, needed.table, recall);
  if (!placed.feasible) throw new Infeasible(draft, placed);
  const { cut_bps, bound } = placed;
  const gathered = gatherForSchedules(draft, placed.graph);
  const names = successors(movingOf(gathered.graph, [...placed.displaced, ...gathered.displaced]));
  const name = (id: string) => names.get(id) ?? id;
  const reasons = placed.reasons.map((reason) => ({ ...reason, subject: name(reason.subject) }));
  return {
    ...draft,
    reasons: [...draft.reasons, ...reasons, ...gathered.reasons],
    graph: renamed(gathered.graph, names, recall),
    cut_bps,
    bound,
    layouts,
    guards: rules.guards,
    addresses: new Map([...addresses].map(([id, theirs]) => [name(id), theirs])),
  };
}
