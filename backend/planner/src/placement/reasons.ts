import type { Plan, PlanStrategy } from '@orrery/contract';
import type { Constraint } from './problem.js';
import type { PlacementState } from './state.js';

type Reason = Plan['reasons'][number];

/** Servers looked at for one reason; those with which the instance has most traffic come first. */
const MAX_CANDIDATES = 64;

/** Why an item is placed where it is: every candidate with its cost or the constraint that rules it out. */
export function placementReason(state: PlacementState, item: number, strategy: PlanStrategy, stays: boolean): Reason {
  const chosen = state.bin[item]!;
  const { bins, items } = state.problem;
  const core = state.core[item]!;
  const before = state.snapshot();
  const cross = bins.map((_, bin) => Math.max(0, state.cutIf(item, bin)));
  state.remove(item);
  const candidates = candidateBins(state, item, chosen).map((bin) => {
    const constraint = bin === chosen ? null : state.obstacle(item, bin);
    return {
      name: bins[bin]!.id,
      chosen: bin === chosen,
      feasible: constraint === null,
      figure: cross[bin]!,
      unit: 'bps',
      constraint,
    };
  });
  state.restore(before);
  const mine = cross[chosen]!;
  const others = candidates.filter((it) => !it.chosen);
  const better = others.filter((it) => !it.feasible && it.figure < mine * (1 - 1e-9));
  const binding = better.reduce<(typeof better)[number] | null>(
    (best, it) => (best === null || it.figure < best.figure ? it : best),
    null,
  );
  return {
    part: 'placement',
    subject: items[item]!.id,
    decision: `${bins[chosen]!.id}, core ${core}`,
    because: because(),
    candidates,
    constraint: binding?.constraint ?? null,
  };

  function because(): string {
    if (stays) return 'It runs there now; elsewhere its flows would lose their state (E2 3.4.4).';
    if (strategy === 'random') return 'Picked at random among the servers with room.';
    if (strategy === 'first-fit' || strategy === 'first-fit-decreasing') return 'The first server with room.';
    if (strategy === 'packing') return 'Packed depth first: the server that was being filled, or the next with room.';
    const open = others.filter((it) => it.feasible);
    const short = binding ? ` ${binding.name} would take less but lacks ${nameOf(binding.constraint!)}.` : '';
    if (others.length === 0) return 'There is no other server.';
    const lack = items[item]!.hosts?.lack;
    if (others.every((it) => it.constraint?.constraint === 'implementation'))
      return `No other server has what it needs: ${lack}.`;
    if (open.length === 0) return `No other server has room.${short}`;
    const next = open.reduce((a, b) => (b.figure < a.figure ? b : a));
    if (next.figure > mine * (1 + 1e-9) + 1e-6)
      return `Least traffic between servers: ${rate(mine)}; on ${next.name} it would be ${rate(next.figure)}.${short}`;
    if (next.figure < mine * (1 - 1e-9) - 1e-6)
      return `Found within the budget of the search; alone on ${next.name} it would cut traffic to ${rate(next.figure)}.`;
    return `No server gives less traffic between servers than ${rate(mine)}; ${next.name} gives as much.${short}`;
  }
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

/** Text of a rate with its unit. */
export function rate(bps: number): string {
  const [scale, unit] =
    bps >= 1e9 ? [1e9, 'Gbit/s'] : bps >= 1e6 ? [1e6, 'Mbit/s'] : bps >= 1e3 ? [1e3, 'kbit/s'] : [1, 'bit/s'];
  return `${Number((bps / scale).toPrecision(3))} ${unit}`;
}
