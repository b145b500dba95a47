import type { PlacementFigures } from '@orrery/planner';
import type { PlacementComparison } from '../../ports/plan-store.js';
import type { RequestBounds } from '../../ports/request-bounds.js';

/** What service requests were promised counts as objectives do: chains of pools have none. */
export function withBounds(
  { before, better, ...rest }: PlacementComparison,
  bounds: Pick<RequestBounds, 'missedWith'>,
): PlacementComparison {
  const and = (figures: PlacementFigures, moved: Parameters<RequestBounds['missedWith']>[0]): PlacementFigures => ({
    ...figures,
    missed: [...figures.missed, ...bounds.missedWith(moved)],
  });
  return { ...rest, before: and(before, []), better: better && { ...better, after: and(better.after, better.moved) } };
}
