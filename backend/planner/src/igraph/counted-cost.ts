import type { ChainDefinition, CostProfile, NfDescriptor } from '@orrery/contract';
import { type AssignedImplementation, costOnCore } from '../check/assigned-implementation.js';
import { configuredNf } from '../check/configured-nf.js';
import { readsStreams } from '../check/implementation.js';
import { costSum, REASSEMBLY } from '../stream-costs.js';

/**
 * The cost by which instances of an NF are counted: of a reader of TCP streams with their reassembly, since it may be the
 * first on its server.
 */
export function countedCost(
  descriptor: NfDescriptor,
  definition: Pick<ChainDefinition, 'nodes'>,
  nodeId: string,
  implementation: AssignedImplementation,
): CostProfile {
  const { driver } = implementation;
  const place = driver === 'board' ? implementation.board : undefined;
  const cost = costOnCore(configuredNf(descriptor, definition, nodeId), driver, place);
  const node = definition.nodes.find(({ id }) => id === nodeId);
  const reads = driver === 'engine' && node?.kind === 'nf' && readsStreams(descriptor, node.config);
  return reads ? costSum(cost, REASSEMBLY) : cost;
}
