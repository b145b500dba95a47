import { PlanOptions, RequestedChange } from '@orrery/contract';
import { NOT_CALIBRATED } from '../slo/overhead.js';
import type { PlanInput } from './input.js';

/** The fields that every plan of the input shares. */
export function header({
  id,
  created_ms,
  options,
  base,
  chains,
  request,
  nf_revisions,
  infrastructure_revision = 0,
  calibration = NOT_CALIBRATED,
  drivers = [],
}: PlanInput) {
  return {
    id,
    created_ms,
    ...PlanOptions.parse(options ?? {}),
    infrastructure_revision,
    base_plan: base?.id ?? null,
    request: request ?? RequestedChange.parse(options ?? {}),
    calibration,
    chains: [...chains],
    ...(drivers.length > 0 ? { drivers: [...drivers] } : {}),
    ...(nf_revisions ? { nf_revisions: { ...nf_revisions } } : {}),
  };
}
