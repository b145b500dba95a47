import { createHash } from 'node:crypto';
import { nfInstances, type Plan } from '@orrery/contract';

/**
 * Identifies what runs and where. Chains of service pools count by their instances alone: they get a version with every request,
 * by which nothing moves.
 */
export function placementOf({ graph, chains }: Pick<Plan, 'graph' | 'chains'>): string {
  const instances = nfInstances(graph).map(({ id, server }) => `${id} ${server}`);
  const versions = chains.filter((chain) => !isOfPool(chain)).map(({ chain_id, version }) => `${chain_id} ${version}`);
  const content = JSON.stringify([instances.sort(), versions.sort()]);
  return createHash('sha256').update(content).digest('base64');
}

function isOfPool({ definition }: Plan['chains'][number]): boolean {
  return definition.nodes.some((node) => node.kind === 'ingress' && node.ways !== undefined);
}
