import type { ChainDefinition } from '@orrery/contract';
import { downstreamOf, nodeLabel, nodeOf } from './graph.js';
import { freshEdgeId } from './identifiers.js';

export type Verdict = { ok: true } | { ok: false; reason: string };

const EDGE_LIMIT = 600;

/**
 * Whether an edge `from` -> `to` is allowed, with an explanation if not. A second edge between the same two nodes is allowed
 * only if all of them have filters: two edges that both match everything would carry each packet twice.
 */
export function canConnect(definition: ChainDefinition, from: string, to: string): Verdict {
  const source = nodeOf(definition, from);
  const target = nodeOf(definition, to);
  if (!source || !target) return refuse('That node is no longer in the chain.');
  if (from === to) return refuse('An NF cannot feed itself.');
  if (source.kind === 'egress') return refuse('Traffic ends at the egress: nothing can follow it.');
  if (target.kind === 'ingress') return refuse('Traffic begins at the ingress: nothing can lead to it.');
  if (definition.edges.length >= EDGE_LIMIT) return refuse(`A chain can have at most ${EDGE_LIMIT} connections.`);
  const unfiltered = definition.edges.find((edge) => edge.from === from && edge.to === to && edge.filter.length === 0);
  if (unfiltered) {
    return refuse(
      `${nodeLabel(source)} already sends everything to ${nodeLabel(target)}; give that edge a filter first.`,
    );
  }
  if (downstreamOf(definition, [to]).has(from)) {
    return refuse(`${nodeLabel(target)} already leads to ${nodeLabel(source)}: packets would loop forever.`);
  }
  return { ok: true };
}

function refuse(reason: string): Verdict {
  return { ok: false, reason };
}

export type Connected = { ok: true; definition: ChainDefinition; edge: string } | { ok: false; reason: string };

/** Adds an edge that matches everything. */
export function connect(definition: ChainDefinition, from: string, to: string): Connected {
  const verdict = canConnect(definition, from, to);
  if (!verdict.ok) return verdict;
  const edge = freshEdgeId(new Set(definition.edges.map((each) => each.id)));
  return {
    ok: true,
    edge,
    definition: { ...definition, edges: [...definition.edges, { id: edge, from, to, filter: [] }] },
  };
}

/**
 * The order in which two selected nodes can be connected: as selected, otherwise reversed. If neither is allowed, the reason
 * is that of the first.
 */
export function connectEither(definition: ChainDefinition, first: string, second: string): Connected {
  const forward = connect(definition, first, second);
  if (forward.ok) return forward;
  const backward = connect(definition, second, first);
  return backward.ok ? backward : forward;
}
