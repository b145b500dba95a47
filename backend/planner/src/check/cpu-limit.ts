import type { ChainDefinition, Plan, PlannedChain } from '@orrery/contract';
import { pgraphNodeId } from '../igraph/pgraph.js';
import { type AssignedImplementations, implementationOf } from './assigned-implementation.js';
import { type DescriptorIndex, indexDescriptors } from './attributes.js';

/** Most of a core that an instance of the NF may use; `null`: a whole one. */
export function cpuLimitOf({ nodes }: Pick<ChainDefinition, 'nodes'>, nodeId: string): number | null {
  const node = nodes.find(({ id }) => id === nodeId);
  return (node?.kind === 'nf' && node.cpu_limit) || null;
}

/** Only containers hold an NF to a limit. Precondition: every NF is in the catalogue. */
export function limitProblems(
  chains: readonly PlannedChain[],
  descriptors: Parameters<typeof indexDescriptors>[0],
  implementations: AssignedImplementations,
): Plan['problems'] {
  const catalogue: DescriptorIndex = indexDescriptors(descriptors);
  return chains.flatMap(({ chain_id, definition }) =>
    definition.nodes.flatMap((node, i): Plan['problems'] => {
      if (node.kind !== 'nf' || node.cpu_limit === undefined) return [];
      const descriptor = catalogue.get(node.nf)!;
      const { driver } = implementationOf(implementations, pgraphNodeId(definition.name, node.id), descriptor);
      if (driver === 'container') return [];
      const message = `${node.id} is to run as ${driver === 'engine' ? 'software in the engine' : driver}: only in a container is it held to a limit of CPU`;
      const pointer = `/nodes/${i}/cpu_limit`;
      return [{ severity: 'error', code: 'bad-implementation', message, pointer, node: node.id, chain_id }];
    }),
  );
}
