import type { Reconfiguration, ReconfigurationPolicy } from '@orrery/contract';
import { type Cause, USUAL_PRIORITY } from '../../../ports/reconfigurer.js';

export function causeOf(
  cause: Reconfiguration['cause'],
  trigger: string,
  by: string,
  policy: Pick<ReconfigurationPolicy, 'id' | 'priority'> | null = null,
): Cause {
  return { cause, trigger, by, policy_id: policy?.id ?? null, priority: policy?.priority ?? USUAL_PRIORITY };
}
