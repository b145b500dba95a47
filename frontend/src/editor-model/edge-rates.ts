import type { ChainDefinition, ChainEdge, NfDescriptor } from '@orrery/contract';
import { nodeOf } from './graph.js';

/** Rates that differ by less than this part of them agree. */
const TOLERANCE = 1e-6;

/** Edges whose rate is an estimate of its own, not derived from the class and the branches. */
export function ratedEdges({ edges }: Pick<ChainDefinition, 'edges'>): ChainEdge[] {
  return edges.filter(({ rate_bps }) => rate_bps !== undefined);
}

/** The definition with every edge rate derived from the class and the branches. */
export function withoutEdgeRates(definition: ChainDefinition): ChainDefinition {
  if (ratedEdges(definition).length === 0) return definition;
  return { ...definition, edges: definition.edges.map(({ rate_bps: _, ...edge }) => edge) };
}

/**
 * Whether estimates of edges contradict the expected rate of the class: behind some node they are more than what arrives there,
 * or less although no edge takes the rest and the node drops nothing.
 */
export function ratesContradict(
  definition: ChainDefinition,
  descriptors: readonly Pick<NfDescriptor, 'id' | 'actions'>[],
): boolean {
  const arriving = new Map<string, number>();
  const mayDrop = (id: string) => {
    const node = nodeOf(definition, id);
    const descriptor = node?.kind === 'nf' && descriptors.find((each) => each.id === node.nf);
    return node?.kind === 'nf' && (!descriptor || descriptor.actions.may_drop);
  };
  const outgoing = (id: string) => definition.edges.filter(({ from }) => from === id);
  const rateOf = (edge: ChainEdge): number => {
    const rates = outgoing(edge.from);
    const all = arrivingAt(edge.from);
    const estimated = rates.reduce((sum, { rate_bps = 0 }) => sum + rate_bps, 0);
    if (edge.rate_bps !== undefined) return estimated > all ? (edge.rate_bps * all) / estimated : edge.rate_bps;
    return Math.max(0, all - estimated) / rates.filter(({ rate_bps }) => rate_bps === undefined).length;
  };
  const arrivingAt = (id: string): number => {
    const known = arriving.get(id);
    if (known !== undefined) return known;
    // Nothing is counted on a cycle: the chain is invalid anyway.
    arriving.set(id, 0);
    const isIngress = nodeOf(definition, id)?.kind === 'ingress';
    const rate = isIngress
      ? definition.traffic_class.rate_bps
      : definition.edges.filter(({ to }) => to === id).reduce((sum, edge) => sum + rateOf(edge), 0);
    arriving.set(id, rate);
    return rate;
  };
  return definition.nodes.some(({ id }) => {
    const edges = outgoing(id);
    const estimated = ratedEdges({ edges }).reduce((sum, { rate_bps = 0 }) => sum + rate_bps, 0);
    const all = arrivingAt(id);
    if (estimated > all * (1 + TOLERANCE)) return true;
    const hasOpen = edges.length === 0 || edges.some(({ rate_bps }) => rate_bps === undefined);
    return !hasOpen && !mayDrop(id) && estimated < all * (1 - TOLERANCE);
  });
}
