import type { ParallelForm } from '@orrery/contract';
import { choiceLabel } from '../plan/plan-choices.js';

/** Whether the form has branches. */
export const isParallel = ({ mirrors, reverted }: Pick<ParallelForm, 'mirrors' | 'reverted'>) =>
  mirrors > 0 && !reverted;

/** Why a line of NFs stays sequential; null if it does not. */
export function whySequential(form: ParallelForm): string | null {
  if (isParallel(form)) return null;
  const by = `In sequence by ${choiceLabel('parallelization', form.strategy)}:`;
  if (form.reverted) return `${by} the gain does not cover the cost of copies and merges.`;
  if (form.strategy === 'sequential') return `${by} it is the option that is set.`;
  const bound = form.conflicts.find((conflict) => !conflict.parallel);
  return bound ? `${by} ${bound.sentence}.` : `${by} no parallel form is quicker.`;
}
