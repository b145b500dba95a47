import type { ChainDefinition, ChainProblem, TravelsAlong } from '@orrery/contract';
import type { DescriptorIndex } from './attributes.js';
import { type ChainGraph, reachableFrom } from './graph.js';
import { unmodifiedOf } from './implementation.js';
import { isDirect } from './packet-space.js';

/**
 * What a chain needs of its packets behind a legacy NF that does not preserve it: derived attributes on which an edge
 * decides, and the ingress time by which latency is measured.
 */
export function checkPreserved(
  definition: ChainDefinition,
  graph: ChainGraph,
  descriptors: DescriptorIndex,
): ChainProblem[] {
  const losing = (what: TravelsAlong) =>
    [...graph.nodes.values()].flatMap((node) => {
      const descriptor = node.kind === 'nf' ? descriptors.get(node.nf) : undefined;
      const unmodified = descriptor && unmodifiedOf(descriptor);
      return unmodified && !unmodified.preserves.includes(what) ? [node.id] : [];
    });
  return [...lostAttributes(definition, graph, losing('metadata')), ...lostTimes(definition, losing('ingress-time'))];
}

function lostAttributes(definition: ChainDefinition, graph: ChainGraph, losing: readonly string[]): ChainProblem[] {
  return losing.flatMap((nf) => {
    const [before, behind] = (['against', 'along'] as const).map((way) => reachableFrom(graph, nf, way));
    return definition.edges.flatMap((edge, i) =>
      edge.filter.flatMap(({ attribute }, k): ChainProblem[] => {
        const [source] = attribute.split('.');
        // An NF derives its own attributes for the packets that it passes on, and the word is lost before that.
        const isLost = !isDirect(attribute) && source !== nf && before!.has(source!) && behind!.has(edge.from);
        const kind = graph.nodes.get(source!)?.kind;
        if (!isLost || kind === undefined || kind === 'egress') return [];
        const message = `"${nf}" does not preserve metadata, so ${attribute} is unknown behind it`;
        return [
          {
            code: 'lost-attribute',
            severity: 'error',
            message,
            pointer: `/edges/${i}/filter/${k}/attribute`,
            edge: edge.id,
          },
        ];
      }),
    );
  });
}

function lostTimes({ slos }: ChainDefinition, losing: readonly string[]): ChainProblem[] {
  const [nf] = losing;
  if (nf === undefined) return [];
  return slos.flatMap(({ kind }, i): ChainProblem[] => {
    if (kind !== 'latency') return [];
    const message = `"${nf}" does not preserve the ingress time, so the latency of the chain cannot be measured`;
    return [{ code: 'bad-objective', severity: 'error', message, pointer: `/slos/${i}`, node: nf }];
  });
}
