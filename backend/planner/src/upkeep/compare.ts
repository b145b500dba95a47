import { lineageOf, nfInstances, type Plan, RequestedChange } from '@orrery/contract';
import { inTime } from '../budget.js';
import { binsOf } from '../placement/problem.js';
import type { PlanInput } from '../plan/input.js';
import { makePlan } from '../plan/make-plan.js';
import { offeredBy } from '../plan/offered.js';
import { parsedInput } from '../plan/parsed-input.js';
import { planRefusal } from '../plan/refusal.js';
import { placeTimes } from '../requests/pool-state.js';
import { betterPlaces, type Move } from './better-places.js';
import { lateWays, type WayBound } from './bounded-ways.js';
import { driftsOf, hasDrifted, type NfDrift } from './drift.js';
import { figuresOf, type PlacementFigures } from './figures.js';
import { type MeasuredLoad, measuredGraph } from './measured-graph.js';

export interface UpkeepInput {
  /** `base` is the plan that runs; `chains` are its chains. */
  readonly input: PlanInput;
  readonly loads: readonly MeasuredLoad[];
  readonly max_moved: number;
  /** What was found before and is kept where nothing else is better. */
  readonly held: readonly Move[];
  /** Ways that are to take so long at most; absent: none. */
  readonly ways?: readonly WayBound[];
}

/** What a plan moves of NFs. */
export interface Moved {
  readonly instance: string;
  readonly from: string;
  readonly to: string;
}

export interface BetterPlan {
  readonly moves: readonly Move[];
  readonly plan: Plan;
  readonly after: PlacementFigures;
  readonly moved: readonly Moved[];
}

/** What runs under the loads that are measured, beside the best plan for the same loads. */
export interface UpkeepComparison {
  /** The plan that runs. */
  readonly base: string;
  readonly drifts: readonly NfDrift[];
  readonly before: PlacementFigures;
  readonly better: BetterPlan | null;
  /** Why there is no better one; null: there is. */
  readonly why: string | null;
}

/**
 * Compares what runs with the best plan that is found for what is measured of it. Nothing is searched where everything was placed
 * at once for this infrastructure, nothing has drifted since, and no way takes longer than it may. Errors: as those of `makePlan`.
 */
export function compareWithBest({ input: asked, loads, max_moved, held, ways = [] }: UpkeepInput): UpkeepComparison {
  const input = offeredBy(parsedInput(asked));
  const { base, infrastructure, descriptors, calibration, budget } = input;
  if (!base) throw new Error('nothing runs');
  const hz = new Map(infrastructure.servers.map(({ id, ghz }) => [id, ghz * 1e9]));
  const about = { descriptors, infrastructure, bins: binsOf(infrastructure), ...(calibration ? { calibration } : {}) };
  const figures = (plan: Pick<Plan, 'chains' | 'pgraph' | 'graph'>) =>
    figuresOf(
      { ...about, chains: plan.chains, pgraph: plan.pgraph },
      plan.graph,
      measuredGraph(plan.graph, base, loads, hz),
      budget,
    );
  const drifts = driftsOf(base, loads, hz);
  const before = figures(base);
  const none = (why: string): UpkeepComparison => ({ base: base.id, drifts, before, better: null, why });
  const bounds = { ways, times: placeTimes(infrastructure, calibration) };
  const isAsPlanned = !drifts.some(hasDrifted) && !isOutdated(input, base);
  if (isAsPlanned && lateWays(ways, bounds.times) === 0) return none('It runs as it was planned.');
  const measured = measuredGraph(base.graph, base, loads, hz);
  const planned = (vain: readonly Move[]): Attempt => {
    const found = betterPlaces(input, base.graph, measured, hz, { most: max_moved, held, vain, ...bounds });
    const { moves, faults } = found;
    if (moves.length === 0) return { why: `No better places were found with at most ${max_moved} moves.` };
    const move = [...moves];
    const plan = makePlan({ ...asked, request: { ...(asked.request ?? RequestedChange.parse({})), move }, move });
    if (!plan.feasible) return { why: `Better places were found, but no plan leads there. ${planRefusal(plan)}` };
    const moved = movedBy(base, plan);
    if (moved.length > max_moved)
      return {
        why: `Better places were found, but the plan would move ${moved.length} instances, above ${max_moved}.`,
      };
    const after = figures(plan);
    const left = Math.max(0, after.overloaded.length - faults);
    return { better: { moves, plan, after, moved }, vain: left === 0 ? [] : movesOnto(after.overloaded, moves, plan) };
  };
  const first = planned([]);
  if ('why' in first) return none(first.why);
  let [better, vain] = [first.better, first.vain];
  for (let i = 1; i < MOST_PLANS && vain.length > 0; i++) {
    const next = inTime(() => planned(vain));
    if (!next || 'why' in next) break;
    if (next.better.after.overloaded.length < better.after.overloaded.length) better = next.better;
    vain = next.vain.length === 0 ? [] : [...vain, ...next.vain];
  }
  return { base: base.id, drifts, before, better, why: null };
}

/** Plans that are made until one has as few cores with too much to do as its moves promise. */
const MOST_PLANS = 8;

type Attempt =
  | { readonly why: string }
  /** `vain`: moves to cores that the plan chose by what is planned of it, and that have too much to do by what is measured. */
  | { readonly better: BetterPlan; readonly vain: readonly Move[] };

function movesOnto(cores: readonly string[], moves: readonly Move[], { graph }: Plan): Move[] {
  const full = new Set(cores);
  const placed = new Map(nfInstances(graph).map((it) => [lineageOf(it.id), it]));
  return moves.filter(({ instance }) => {
    const it = placed.get(lineageOf(instance));
    return it !== undefined && full.has(`${it.server}/${it.core}`);
  });
}

/** Whether not everything of the plan was placed at once, on this infrastructure. */
function isOutdated({ infrastructure_revision, exclusions }: ReturnType<typeof offeredBy>, base: Plan): boolean {
  const stayed = new Set(base.diff.kept);
  const isPieced = base.base_plan !== null && nfInstances(base.graph).some(({ id }) => stayed.has(id));
  const excluded = [...exclusions.keys()].sort().join(' ');
  const isOther = excluded !== (base.excluded?.servers ?? []).join(' ');
  const revision = infrastructure_revision ?? base.infrastructure_revision;
  return isPieced || isOther || revision !== base.infrastructure_revision;
}

/** The NF instances that another plan moves. */
export function movedBy(base: Plan, plan: Plan): Moved[] {
  const name = ({ pgraph_node, id }: { readonly pgraph_node: string; readonly id: string }) =>
    `${pgraph_node} ${lineageOf(id)}`;
  const before = new Map(nfInstances(base.graph).map((it) => [name(it), it]));
  return nfInstances(plan.graph).flatMap((it) => {
    const was = before.get(name(it));
    return was && was.id !== it.id ? [{ instance: was.id, from: was.server, to: it.server }] : [];
  });
}
