import type { Constraint, FieldError, Plan } from '@orrery/contract';

/** Errors of the definitions, and the shortages that leave no plan. */
export function planErrors({ problems, conflicts }: Plan, pointer: string): FieldError[] {
  const errors = problems.filter(({ severity }) => severity === 'error');
  return [
    ...errors.map((problem) => ({ pointer: problem.pointer, detail: problem.message, code: problem.code })),
    ...conflicts.map((conflict) => ({ pointer, detail: shortage(conflict), code: conflict.constraint })),
  ];
}

/** Why an infeasible plan is. */
export function planRefusal({ problems, conflicts: [conflict] }: Plan): string {
  const problem = problems.find(({ severity }) => severity === 'error');
  if (problem) return `${problem.pointer}: ${problem.message}`;
  return conflict ? `The plan is not feasible: ${shortage(conflict)}.` : 'The plan is not feasible.';
}

function shortage({ constraint, needed, available, unit, where }: Constraint): string {
  return `${constraint} at ${where} needs ${needed} ${unit}, but only ${available} ${unit} available`;
}
