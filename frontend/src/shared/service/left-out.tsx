import type { NotKept } from '@orrery/contract';
import type { ChainTitle } from '../api/chains.js';
import { constraintText } from '../plan/plan-text.js';

interface LeftOutProps {
  readonly notKept: readonly NotKept[];
  readonly titleOf: ChainTitle;
}

/** What a plan cannot keep, as items of a list. */
export function LeftOut({ notKept, titleOf }: LeftOutProps) {
  return notKept.map(({ chain_id, slo_id, constraint }) => (
    <li key={`${chain_id} ${slo_id}`}>
      {slo_id === null ? `${titleOf(chain_id)} is taken down` : `${titleOf(chain_id)} misses its objective ${slo_id}`}
      {constraint ? `: ${constraintText(constraint)}.` : '.'}
    </li>
  ));
}
