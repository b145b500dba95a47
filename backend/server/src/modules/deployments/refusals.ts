import type { FieldError, Plan } from '@orrery/contract';
import { shortage } from '@orrery/planner';

/** Errors of the definitions, and the shortages that leave no plan. */
export function planErrors({ problems, conflicts }: Plan, pointer: string): FieldError[] {
  const errors = problems.filter(({ severity }) => severity === 'error');
  return [
    ...errors.map((problem) => ({ pointer: problem.pointer, detail: problem.message, code: problem.code })),
    ...conflicts.map((conflict) => ({ pointer, detail: shortage(conflict), code: conflict.constraint })),
  ];
}
