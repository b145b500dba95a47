import { PlanOptions } from '@orrery/contract';
import type { PlanInput } from './input.js';

/** The fields that every plan of the input shares. */
export function header({ id, created_ms, options, base, chains, infrastructure_revision = 0 }: PlanInput) {
  return {
    id,
    created_ms,
    ...PlanOptions.parse(options ?? {}),
    infrastructure_revision,
    base_plan: base?.id ?? null,
    chains: [...chains],
  };
}
