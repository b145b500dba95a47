import type { Plan, PlanStrategy } from '@orrery/contract';
import { type Budget, Spending } from '../budget.js';
import { rateText } from '../figures.js';
import type { Constraint } from './problem.js';
import type { PlacementState } from './state.js';

type Reason = Plan['reasons'][number];

type Candidate = Reason['candidates'][number] & { readonly figure: number };

/** Servers looked at for one reason; those with which the instance has most traffic come first. */
const MAX_CANDIDATES = 64;

/** Servers looked at for all reasons of a plan; what is placed after that is told without its candidates. */
export const MOST_LOOKS = 50_000;

/**
 * Whether an item is new or stays where it runs, or else the place that it leaves, what is wrong there, as `which ...` (null: there is no
 * room), and what becomes of what it holds.
 */
export type History = 'new' | 'stays' | { readonly left: string; readonly lack: string | null; readonly holds: Held };

/** What is lost of a node that leaves, or goes with it. `nothing`: its server is lost, with all that was there. */
export type Held = 'flow state' | 'copies' | 'kept flows' | 'nothing';

/** Why each item is placed where it is, in their order, as far as looks and time suffice. */
export function placementReasons(
  state: PlacementState,
  strategy: PlanStrategy,
  historyOf: (item: number) => History,
  { expired }: Pick<Budget, 'expired'>,
): Reason[] {
  const looks = new Spending({ steps: MOST_LOOKS, expired });
  const { items, bins } = state.problem;
  return items.map((_, item) =>
    looks.spend(bins.length)
      ? placementReason(state, item, strategy, historyOf(item))
      : { ...placedAt(state, item), because: unexplained(historyOf(item)), candidates: [], constraint: null },
  );
}

/** Why an item is placed where it is: every candidate with its cost or the constraint that rules it out. */
function placementReason(state: PlacementState, item: number, strategy: PlanStrategy, history: History): Reason {
  const chosen = state.bin[item]!;
  const { bins, items } = state.problem;
  const mine = state.cutIf(item, chosen);
  const looked = candidateBins(state, item, chosen);
  const candidates = looked.map((bin): Candidate => {
    const name = bins[bin]!.id;
    const figure = state.cutIf(item, bin);
    return { name, chosen: bin === chosen, feasible: true, figure, unit: 'bps', constraint: null };
  });
  /** Takes less than the chosen one and is ruled out: of these, the one that takes the least. */
  let binding: Candidate | null = null;
  const before = state.mark();
  state.remove(item);
  for (let i = 0; i < looked.length; i++) {
    const candidate = candidates[i]!;
    const constraint = candidate.chosen ? null : state.obstacle(item, looked[i]!);
    if (!constraint) continue;
    candidate.feasible = false;
    candidate.constraint = constraint;
    const { figure } = candidate;
    if (figure < mine * (1 - 1e-9) && (binding === null || figure < binding.figure)) binding = candidate;
  }
  state.rollback(before);
  return {
    ...placedAt(state, item),
    because: [...left(history), because(binding)].join(' '),
    candidates,
    constraint: binding?.constraint ?? null,
  };

  function because(binding: Candidate | null): string {
    if (history === 'stays') return STAYS;
    if (strategy === 'random') return 'Picked at random among the servers with room.';
    if (strategy === 'first-fit' || strategy === 'first-fit-decreasing') return 'The first server with room.';
    if (strategy === 'packing') return 'Packed depth first: the server that was being filled, or the next with room.';
    const others = candidates.filter((it) => !it.chosen);
    const open = others.filter((it) => it.feasible);
    const short = binding ? ` ${binding.name} would take less but lacks ${nameOf(binding.constraint!)}.` : '';
    if (others.length === 0) return 'There is no other server.';
    const lack = items[item]!.hosts?.lack;
    if (others.every((it) => it.constraint?.constraint === 'implementation'))
      return `No other server has what it needs: ${lack}.`;
    if (open.length === 0) return `No other server has room.${short}`;
    const next = open.reduce((a, b) => (b.figure < a.figure ? b : a));
    if (next.figure > mine * (1 + 1e-9) + 1e-6)
      return `Least traffic between servers: ${rateText(mine)}; on ${next.name} it would be ${rateText(next.figure)}.${short}`;
    if (next.figure < mine * (1 - 1e-9) - 1e-6)
      return `Found within the budget of the search; alone on ${next.name} it would cut traffic to ${rateText(next.figure)}.`;
    return `No server gives less traffic between servers than ${rateText(mine)}; ${next.name} gives as much.${short}`;
  }
}

const STAYS = 'It runs there now; elsewhere its flows would lose their state (E2 3.4.4).';

const LOSSES: Readonly<Record<Held, string>> = {
  'flow state': 'its flow state goes with it',
  copies: 'packets whose copies are under way meanwhile may be lost',
  'kept flows': 'flows that it keeps at their instances follow the ranges again',
  nothing: 'what it held is lost',
};

function left(history: History): string[] {
  if (history === 'new' || history === 'stays') return [];
  const { left, lack, holds } = history;
  const why = lack === null ? 'where its load has no room any more' : `which ${lack}`;
  return [`It leaves ${left}, ${why}; ${LOSSES[holds]}.`];
}

function unexplained(history: History): string {
  if (history === 'stays') return STAYS;
  return [...left(history), 'The plan is large: the other servers are compared for its first decisions only.'].join(
    ' ',
  );
}

function placedAt({ problem, bin, core }: PlacementState, item: number): Pick<Reason, 'part' | 'subject' | 'decision'> {
  const decision = `${problem.bins[bin[item]!]!.id}, core ${core[item]!}`;
  return { part: 'placement', subject: problem.items[item]!.id, decision };
}

/** Why nothing could be planned: the item that found no server, and what every server lacks. */
export function stuckReason(state: PlacementState, item: number, proven: boolean): Reason {
  const { bins, items } = state.problem;
  const candidates = candidateBins(state, item, null).map((bin) => ({
    name: bins[bin]!.id,
    chosen: false,
    feasible: false,
    figure: null,
    unit: 'bps',
    constraint: state.obstacle(item, bin),
  }));
  return {
    part: 'placement',
    subject: items[item]!.id,
    decision: 'no server',
    because: proven
      ? 'All placements were tried; none fits.'
      : 'Every server lacks something that it needs; no placement was found.',
    candidates,
    constraint: candidates[0]?.constraint ?? null,
  };
}

function candidateBins(state: PlacementState, item: number, chosen: number | null): number[] {
  const s = state.problem.bins.length;
  const bins = [...state.problem.bins.keys()];
  if (s <= MAX_CANDIDATES) return bins;
  const near = (bin: number) => (bin === chosen ? Number.POSITIVE_INFINITY : state.traffic[item * s + bin]!);
  return bins
    .sort((a, b) => near(b) - near(a) || a - b)
    .slice(0, MAX_CANDIDATES)
    .sort((a, b) => a - b);
}

function nameOf({ constraint, unit }: Constraint): string {
  if (constraint === 'implementation') return unit;
  return constraint === 'cpu' ? 'processor' : constraint.replace('-', ' ');
}
