import type { Operation } from '@orrery/contract';

const MOST_IN_PROGRESS = 16;
/** Each keeps its plan in memory. */
const MOST_SET_ASIDE = 64;
const MOST_NAMED = 5;

/** Why no further operation can be accepted beside those that have not finished; null: one can. */
export function queueRefusal(unfinished: readonly Pick<Operation, 'set_aside'>[]): string | null {
  const aside = unfinished.flatMap(({ set_aside }) => set_aside ?? []);
  if (unfinished.length - aside.length >= MOST_IN_PROGRESS) return `${MOST_IN_PROGRESS} operations are already queued.`;
  if (aside.length < MOST_SET_ASIDE) return null;
  const nodes = [...new Set(aside.flatMap(({ waiting_for }) => waiting_for))].sort();
  const more = nodes.length > MOST_NAMED ? ` and ${nodes.length - MOST_NAMED} others` : '';
  const named = `${nodes.slice(0, MOST_NAMED).join(', ')}${more}`;
  return `${aside.length} operations are set aside until ${named} ${nodes.length > 1 ? 'are' : 'is'} back: connect the agents, or roll operations back.`;
}
