import type { Plan } from '@orrery/contract';
import { improving, inTime, isLate } from '../budget.js';
import { type Placement, type PlacementOptions, place } from '../placement/place.js';
import type { Place, PlacementProblem } from '../placement/problem.js';

type Feasible = Extract<Placement, { feasible: true }>;

/** Shares of the core budget, tried in turn if fuller cores would miss an objective. */
const FILLS = [0.75, 0.5, 0.3] as const;

interface PlacedForObjectives {
  readonly placement: Placement;
  readonly reasons: Plan['reasons'];
}

/**
 * The placement of the strategy; where it misses latency objectives and emptier cores meet more of them, the one that
 * fills cores less, though more may cross the switch. `missed` counts the objectives that a placement is predicted to miss;
 * `null`: there is no time left to tell.
 */
export function placeForObjectives(
  problem: PlacementProblem,
  options: PlacementOptions,
  missed: (places: readonly Place[]) => number | null,
): PlacedForObjectives {
  const full = place(problem, options);
  if (!full.feasible || options.strategy !== 'e2') return { placement: full, reasons: [] };
  const least = missed(full.places);
  if (least === null) return { placement: full, reasons: [NOT_COMPARED] };
  if (least === 0) return { placement: full, reasons: [] };
  let best = { placement: full as Feasible, missed: least, fill: 1 };
  for (const fill of FILLS) {
    if (best.missed === 0 || isLate(options.budget)) break;
    const emptier = placeFilled(problem, options, fill);
    const count = emptier && missed(emptier.places);
    if (emptier && count !== null && count < best.missed) best = { placement: emptier, missed: count, fill };
  }
  return { placement: best.placement, reasons: [reasonOf(best, full, least)] };
}

/** A placement that fills each core only so far; `null` where none is found in time without moving what runs. */
function placeFilled(problem: PlacementProblem, options: PlacementOptions, fill: number): Feasible | null {
  const items = problem.items.map((item) => ({ ...item, cycles_per_second: item.cycles_per_second / fill }));
  const budget = improving(options.budget);
  const found = inTime(() => place({ ...problem, items }, { ...options, budget }));
  return found?.feasible && found.displaced.length === 0 ? found : null;
}

const NOT_COMPARED: Plan['reasons'][number] = {
  part: 'placement',
  subject: 'placement',
  decision: 'cores filled as far as plans hand out',
  because: 'The planning time ran out before it was known whether emptier cores would meet more latency objectives.',
  candidates: [],
  constraint: null,
};

function reasonOf(
  best: { readonly placement: Feasible; readonly missed: number; readonly fill: number },
  full: Feasible,
  least: number,
): Plan['reasons'][number] {
  const objectives = (count: number) => (count === 1 ? 'one latency objective' : `${count} latency objectives`);
  const spread = best.fill < 1;
  return {
    part: 'placement',
    subject: 'placement',
    decision: spread
      ? `cores filled to ${Math.round(best.fill * 100)} % of what plans hand out`
      : 'cores filled as far as plans hand out',
    because: spread
      ? `With fuller cores and the least traffic between servers, ${objectives(least)} would be missed; so ${best.missed === 0 ? 'none is' : `${objectives(best.missed)} still are`}.`
      : `${objectives(least)} will be missed, and emptier cores would not help: queueing is not the cause.`,
    candidates: [
      { name: 'least traffic', chosen: !spread, feasible: true, figure: full.cut_bps, unit: 'bps', constraint: null },
      ...(spread
        ? [
            {
              name: 'emptier cores',
              chosen: true,
              feasible: true,
              figure: best.placement.cut_bps,
              unit: 'bps',
              constraint: null,
            },
          ]
        : []),
    ],
    constraint: null,
  };
}
