import type { ChainDefinition, ClassSlo } from '@orrery/contract';
import { edgeLabel } from '../../editor-model/diff.js';
import { edgeOf } from '../../editor-model/graph.js';

const KINDS: Record<Exclude<ClassSlo['kind'], 'priority'>, string> = { 'cpu-time': 'CPU time', throughput: 'Packets' };

/** The traffic class that an edge names, in words: the NFs and the filter of the edge; its id where the chain has no such edge. */
export function edgeClassText(definition: ChainDefinition, edgeId: string): string {
  const edge = edgeOf(definition, edgeId);
  return edge ? edgeLabel(definition, edge) : edgeId;
}

/** An objective between classes in words: `CPU time of A over B`, `A before B`. */
export function classObjectiveText(definition: ChainDefinition, slo: ClassSlo): string {
  const name = (id: string) => edgeClassText(definition, id);
  return slo.kind === 'priority'
    ? `${name(slo.above)} before ${name(slo.below)}`
    : `${KINDS[slo.kind]} of ${name(slo.a)} over ${name(slo.b)}`;
}

/** The server's reason for the state of an objective, which names classes by their edges, with their names. */
export function causeText(cause: string, definition: ChainDefinition | undefined): string {
  const named = definition
    ? cause.replace(/\bthe class of ([\w-]+)/g, (_, edge: string) => `the class ${edgeClassText(definition, edge)}`)
    : cause;
  return /\bgets all that it offers$/.test(cause) ? `no contention: ${named}` : named;
}
