import type { FieldError, Plan, PlanRequest } from '@orrery/contract';
import { movedBy } from '@orrery/planner';

/** Whether a plan moves more of what runs than it may. */
export function tooManyMoves(
  { max_moved }: Pick<PlanRequest, 'max_moved'>,
  base: Plan | null,
  plan: Plan,
): FieldError[] {
  if (max_moved === undefined || !base || !plan.feasible) return [];
  const { length } = movedBy(base, plan);
  if (length <= max_moved) return [];
  const detail = `is below the ${length} instances that would move`;
  return [{ pointer: '/max_moved', detail, code: 'too-many-moves' }];
}
