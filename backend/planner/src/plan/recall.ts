import type { PlanOptions } from '@orrery/contract';
import { isLate, requireTime } from '../budget.js';
import { NOTHING_KNOWN, type Recall } from '../recall.js';
import type { OfferedInput } from './offered.js';

/**
 * Asks the clock before every part. Without a memo everything is made anew; what a part left out for lack of time is not
 * taken over.
 */
export function recallOf(
  { memo, descriptors, infrastructure, container_servers, budget }: OfferedInput,
  options: PlanOptions,
): Recall {
  const inTime = <T>(make: () => T): T => {
    requireTime(budget);
    return make();
  };
  if (!memo) return { ...NOTHING_KNOWN, of: (_part, _from, make) => inTime(make) };
  const context = memo.nameOf([options, memo.nameOf(descriptors), memo.nameOf(infrastructure), container_servers]);
  const whole = () => !isLate(budget);
  return {
    of: (part, from, make) => inTime(() => memo.get(`${context} ${part} ${JSON.stringify(from)}`, make, whole)),
    nameOf: (value) => memo.nameOf(value),
  };
}
