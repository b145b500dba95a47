import { isPlanned, type PlannedChain } from '@orrery/contract';

/** The chains with a planned schedule. */
export function plannedChains(chains: readonly PlannedChain[]): Set<string> {
  return new Set(chains.flatMap(({ chain_id, schedule }) => (isPlanned(schedule) ? [chain_id] : [])));
}
