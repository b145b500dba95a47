import type { PlannedChain } from '@orrery/contract';

const INDICES = new WeakMap<readonly PlannedChain[], ReadonlyMap<string, PlannedChain>>();

/** By id; made once for each list. */
export function chainsById(chains: readonly PlannedChain[]): ReadonlyMap<string, PlannedChain> {
  const known = INDICES.get(chains);
  if (known) return known;
  const index = new Map(chains.map((chain) => [chain.chain_id, chain]));
  INDICES.set(chains, index);
  return index;
}
