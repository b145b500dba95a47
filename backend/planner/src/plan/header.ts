import { type Excluded, PlanOptions, RequestedChange } from '@orrery/contract';
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
  ...rest
}: PlanInput) {
  const excluded = excludedBy(rest);
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
    ...(excluded ? { excluded } : {}),
    ...(rest.guarded?.length ? { guarded: [...rest.guarded] } : {}),
    ...(nf_revisions ? { nf_revisions: { ...nf_revisions } } : {}),
  };
}

type Without = Pick<PlanInput, 'without_servers' | 'lost_servers' | 'without_boards'>;

function excludedBy(input: Without): Excluded | null {
  const excluded = {
    servers: [...new Set([...(input.without_servers ?? []), ...(input.lost_servers ?? [])])].sort(),
    lost_servers: [...(input.lost_servers ?? [])].sort(),
    boards: [...(input.without_boards ?? [])].sort(),
  };
  return Object.values(excluded).some((names) => names.length > 0) ? excluded : null;
}
