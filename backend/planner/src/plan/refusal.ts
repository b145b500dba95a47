import { type Constraint, type Plan, unitText } from '@orrery/contract';

/** What is short and where, without a full stop. */
export function shortage({ constraint, needed, available, unit, where }: Constraint): string {
  if (constraint === 'implementation' && available === 0) return `${where} lacks: ${unit}`;
  if (constraint === 'excluded') return `${where} cannot be used: it ${unit === 'is lost' ? unit : 'is excluded'}`;
  if (constraint === 'switch-path') return `no way leads from ${where} to where the chain goes on`;
  if (constraint === 'switch-program') return `${where} runs a P4 program of its own, and carries no chain`;
  const of = unitText(unit);
  return `${constraint} at ${where} needs ${needed} ${of}, but only ${available} ${of} available`;
}

/** Why an infeasible plan is, as a sentence. */
export function planRefusal({ problems, conflicts: [conflict] }: Pick<Plan, 'problems' | 'conflicts'>): string {
  const problem = problems.find(({ severity }) => severity === 'error');
  if (problem) return `${problem.pointer}: ${problem.message}`;
  return conflict ? `The plan is not feasible: ${shortage(conflict)}.` : 'The plan is not feasible.';
}
