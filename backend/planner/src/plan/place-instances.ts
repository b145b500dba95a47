import type { InstanceGraph, Plan, PlanOptions } from '@orrery/contract';
import { improving, inTime } from '../budget.js';
import { type UnplacedGraph, type WorkNode, workNodes } from '../igraph/graph.js';
import { boundPlacement, type PlacementBound } from '../placement/bound.js';
import { placedGraph, quickBound, runningPlaces } from '../placement/from-graph.js';
import type { Place, PlacementProblem } from '../placement/problem.js';
import { type Held, type History, placementReasons, stuckReason } from '../placement/reasons.js';
import { PlacementState } from '../placement/state.js';
import type { Recall } from '../recall.js';
import type { PlacedInput } from '../slo/placed.js';
import { predictSlos } from '../slo/predict.js';
import { withFewHandovers } from './handover-cores.js';
import { instanceProblem } from './instance-problem.js';
import type { OfferedInput } from './offered.js';
import { placeForObjectives } from './place-for-objectives.js';

const HELD: Readonly<Record<WorkNode['kind'], Held>> = {
  nf: 'flow state',
  mirror: 'copies',
  merge: 'copies',
  split: 'kept flows',
};

type Placed =
  | {
      readonly feasible: true;
      readonly graph: InstanceGraph;
      readonly reasons: Plan['reasons'];
      readonly cut_bps: number;
      /** Nodes that run and leave their core. */
      readonly displaced: readonly string[];
      readonly bound: PlacementBound;
    }
  | { readonly feasible: false; readonly reasons: Plan['reasons']; readonly conflicts: Plan['conflicts'] };

const FROM = 'Its packets come from this core, so they wait for no other worker.';
/** Why a node is on its core, by kind (`withFewHandovers`). */
const BESIDE: Readonly<Record<WorkNode['kind'], string>> = {
  nf: '',
  mirror: FROM,
  split: FROM,
  merge: 'Its packets go on to this core, so they wait for no other worker.',
};

/**
 * Gives every node of the graph a core, so that latency objectives are met where they can be (E2 3.4.1 step 4).
 * Errors: `OutOfTime` when the time is over before every node has one.
 */
export function placeInstances(
  input: OfferedInput,
  { strategy, seed }: PlanOptions,
  about: Omit<PlacedInput, 'graph'>,
  graph: UnplacedGraph,
  table: PlacementProblem['table'],
  recall: Recall,
): Placed {
  const { chains, base, infrastructure, budget } = input;
  const { bins } = about;
  const problem = instanceProblem(input, bins, graph, table);
  const pinned = runningPlaces(graph, base, infrastructure);
  const bounded = chains.some(({ definition }) => definition.slos.some(({ kind }) => kind === 'latency'));
  const missed = (places: readonly Place[]): number | null => {
    if (!bounded) return 0;
    const slos = inTime(() =>
      predictSlos({ ...about, graph: placedGraph(graph, problem, places, infrastructure, recall) }, improving(budget)),
    );
    return slos?.filter(({ kind, met }) => kind === 'latency' && !met).length ?? null;
  };
  /** Where it is known in time that no more objectives are missed. */
  const beside = (places: readonly Place[]): readonly Place[] => {
    const moved = withFewHandovers(graph, problem, pinned, places);
    if (moved.every((place, item) => place === places[item])) return places;
    const [before, after] = [missed(places), missed(moved)];
    return before === null || after === null || after > before ? places : moved;
  };
  const { placement, reasons } = placeForObjectives(problem, { strategy, seed, budget, pinned }, missed);
  if (!placement.feasible) {
    const { stuck, conflicts, proven } = placement;
    const state = PlacementState.of(problem, pinned, placement.places);
    return {
      feasible: false,
      reasons: stuck === null ? [] : [stuckReason(state, stuck, proven)],
      conflicts: [...conflicts],
    };
  }
  const places = beside(placement.places);
  const state = PlacementState.of(problem, pinned, places);
  const displaced = new Set(placement.displaced);
  const { cut_bps } = placement;
  const work = workNodes(graph);
  const lost = new Set(input.lost_servers);
  const history = (item: number): History => {
    const ran = pinned[item];
    if (!ran) return 'new';
    if (!displaced.has(item)) return 'stays';
    const hosts = problem.items[item]!.hosts;
    const server = bins[ran.bin]!.id;
    const excluded = hosts?.excluded?.get(ran.bin);
    const lack = hosts && !hosts.bins.has(ran.bin) ? (excluded ?? `lacks ${hosts.lack} by now`) : null;
    const holds = lost.has(server) ? 'nothing' : HELD[work[item]!.kind];
    return { left: `${server}, core ${ran.core}`, lack, holds };
  };
  const why = placementReasons(state, strategy, history, improving(budget)).map((reason, item) =>
    places[item]!.core === placement.places[item]!.core
      ? reason
      : { ...reason, because: `${reason.because} ${BESIDE[work[item]!.kind]}` },
  );
  return {
    feasible: true,
    graph: placedGraph(graph, problem, places, infrastructure, recall),
    reasons: [...reasons, ...why],
    cut_bps,
    displaced: work.flatMap(({ id }, item) => (displaced.has(item) ? [id] : [])),
    bound: boundPlacement(
      problem,
      cut_bps,
      quickBound(work.length, pinned.filter((place) => place !== null).length, improving(budget)),
    ),
  };
}
