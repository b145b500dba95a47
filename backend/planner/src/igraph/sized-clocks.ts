import { type NfDescriptor, nfInstances, type Plan } from '@orrery/contract';
import { implementationsOf } from '../check/assigned-implementation.js';
import { indexDescriptors } from '../check/attributes.js';
import { countedCost } from './counted-cost.js';
import { pgraphOfChain } from './pgraph.js';
import { cyclesPerPacket } from './sizing.js';

/** Significant digits of a clock that follows from loads and cores: rounding is far below them. */
const DIGITS = 12;

/**
 * The clock for which each chain of a plan was sized, in GHz. A chain is left out if it carries nothing, or if its NFs cost
 * something else now, so that no clock explains all of them.
 */
export function sizedClocks(
  { chains, pgraph, graph }: Pick<Plan, 'chains' | 'pgraph' | 'graph'>,
  descriptors: readonly NfDescriptor[],
): ReadonlyMap<string, number> {
  const catalogue = indexDescriptors(descriptors);
  const implementations = implementationsOf(nfInstances(graph));
  const clocks = new Map<string, number>();
  for (const chain of chains) {
    const bytes = chain.definition.traffic_class.packet_bytes;
    const found = pgraphOfChain(pgraph, chain).nodes.flatMap(({ id, node_id, nf, load_pps, cores_needed }) => {
      if (cores_needed === 0) return [];
      const implementation = implementations.get(id);
      const descriptor = catalogue.get(nf);
      const offered = descriptor?.implementations.some((it) => it.driver === implementation?.driver);
      if (!implementation || !descriptor || !offered) return [Number.NaN];
      const cost = countedCost(descriptor, chain.definition, node_id, implementation);
      const cycles = load_pps * cyclesPerPacket(cost, bytes);
      return [Number((cycles / (cores_needed * 1e9)).toPrecision(DIGITS))];
    });
    const [ghz = 0] = found;
    if (ghz > 0 && found.every((it) => it === ghz)) clocks.set(chain.chain_id, ghz);
  }
  return clocks;
}
