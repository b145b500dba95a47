import type { InstanceGraph, Plan, PlanOptions } from '@orrery/contract';
import { plannedChains } from '../check/planned-chains.js';
import { type UnplacedGraph, workNodes } from '../igraph/graph.js';
import { boundPlacement, type PlacementBound } from '../placement/bound.js';
import { hostsOf, placedGraph, quickEffort, runningPlaces } from '../placement/from-graph.js';
import { type PlacementProblem, problemOf } from '../placement/problem.js';
import { placementReason, stuckReason } from '../placement/reasons.js';
import type { PlacementState } from '../placement/state.js';
import type { PlacedInput } from '../slo/placed.js';
import { predictSlos } from '../slo/predict.js';
import type { OfferedInput } from './offered.js';
import { placeForObjectives } from './place-for-objectives.js';

type Placed =
  | {
      readonly feasible: true;
      readonly graph: InstanceGraph;
      readonly reasons: Plan['reasons'];
      readonly cut_bps: number;
      readonly bound: PlacementBound;
    }
  | { readonly feasible: false; readonly reasons: Plan['reasons']; readonly conflicts: Plan['conflicts'] };

/** Gives every node of the graph a core, so that latency objectives are met where they can be (E2 3.4.1 step 4). */
export function placeInstances(
  { chains, before = null, base, infrastructure, container_servers, abilities = {}, budget }: OfferedInput,
  { strategy, seed }: PlanOptions,
  about: Omit<PlacedInput, 'graph'>,
  graph: UnplacedGraph,
  table: PlacementProblem['table'],
): Placed {
  const { bins } = about;
  const problem = problemOf(
    graph,
    bins,
    table,
    hostsOf(graph, infrastructure, container_servers, abilities, plannedChains(chains)),
  );
  const pinned = runningPlaces(graph, [before, base], infrastructure);
  const missed = (state: PlacementState) =>
    predictSlos({ ...about, graph: placedGraph(graph, state, bins) }).filter(
      ({ kind, met }) => kind === 'latency' && !met,
    ).length;
  const { placement, reasons } = placeForObjectives(problem, { strategy, seed, budget, pinned }, missed);
  if (!placement.feasible) {
    const { stuck, conflicts, proven, state } = placement;
    return {
      feasible: false,
      reasons: stuck === null ? [] : [stuckReason(state, stuck, proven)],
      conflicts: [...conflicts],
    };
  }
  const { state } = placement;
  const { cut: cut_bps } = state;
  const work = workNodes(graph);
  const stays = (item: number) => pinned[item] !== null && pinned[item]!.bin === state.bin[item];
  return {
    feasible: true,
    graph: placedGraph(graph, state, bins),
    reasons: [...reasons, ...work.map((_, item) => placementReason(state, item, strategy, stays(item)))],
    cut_bps,
    bound: boundPlacement(problem, cut_bps, quickEffort(work.length)),
  };
}
