import type { Chain } from '@orrery/contract';

type State = Chain['deployment_state'];

const RANK: Partial<Record<State, number>> = { failed: 0, degraded: 1 };
const WELL = 2;

/** Failed chains, then degraded ones, then the others in the order given. */
export function worstFirst<Row>(rows: readonly Row[], stateOf: (row: Row) => State): Row[] {
  const rank = (row: Row) => RANK[stateOf(row)] ?? WELL;
  return [...rows].sort((a, b) => rank(a) - rank(b));
}
