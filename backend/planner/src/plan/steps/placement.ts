import { unplacedInstances } from '../../igraph/graph.js';
import { addressOwners, addressProblem, assignAddresses } from '../../lower/addresses.js';
import { metadataLayouts } from '../../lower/metadata.js';
import { classMatches } from '../../lower/steering.js';
import { tableBeforeHops } from '../../lower/switch/table-use.js';
import { binsOf } from '../../placement/problem.js';
import { predecessors } from '../../transition/migrations.js';
import { Infeasible, type PlacedDraft, type SplitDraft } from '../draft.js';
import { placeInstances } from '../place-instances.js';

/** A core for every node (E2 3.4.1 step 4). Placement needs to know what the switches must hold wherever nodes stand. */
export function placeNodes(draft: SplitDraft): PlacedDraft {
  const { input, options, pgraph, unplaced } = draft;
  const { chains, descriptors, infrastructure, base, switches = new Map() } = input;
  const { addresses, shortages } = assignAddresses(
    addressOwners(chains, descriptors, unplaced),
    base,
    predecessors(base, unplacedInstances(unplaced)),
  );
  if (shortages.length > 0)
    throw new Infeasible(draft, { problems: shortages.map((it) => addressProblem(it, pgraph, chains)) });
  const layouts = metadataLayouts(chains, descriptors, base);
  const classes = chains.flatMap((chain) => classMatches(chain, layouts.get(chain.definition.name)!));
  const needed = tableBeforeHops(infrastructure, switches, classes, [...addresses.values()].flat());
  if (needed.conflicts.length > 0) throw new Infeasible(draft, { conflicts: [...needed.conflicts] });
  const about = { chains, descriptors, infrastructure, bins: binsOf(infrastructure), pgraph };
  const placed = placeInstances(input, options, about, unplaced, needed.table);
  if (!placed.feasible) throw new Infeasible(draft, placed);
  const { graph, cut_bps, bound } = placed;
  return { ...draft, reasons: [...draft.reasons, ...placed.reasons], graph, cut_bps, bound, layouts, addresses };
}
