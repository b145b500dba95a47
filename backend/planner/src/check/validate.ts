import type { ChainDefinition, ChainProblem, HostNode, NfDescriptor } from '@orrery/contract';
import { indexDescriptors, usedDerived } from './attributes.js';
import { checkConfig } from './check-config.js';
import { checkFilters } from './check-filters.js';
import { checkMetadata } from './check-metadata.js';
import { checkObjectives } from './check-objectives.js';
import { checkReferences, checkShape } from './check-structure.js';
import { checkTraffic } from './check-traffic.js';
import { graphOf } from './graph.js';

/** Context of a validation. */
export interface ChainContext {
  readonly descriptors: readonly NfDescriptor[];
  readonly hosts: readonly Pick<HostNode, 'id'>[];
}

/**
 * Every problem of a definition; it can be planned when none has severity `error`. The same check runs in the browser
 * and in the server. Precondition: the contract's schema has parsed the definition. Never throws.
 */
export function validateChain(definition: ChainDefinition, context: ChainContext): ChainProblem[] {
  const descriptors = indexDescriptors(context.descriptors);
  const graph = graphOf(definition);
  const derived = usedDerived(definition, graph, descriptors);
  return [
    ...checkReferences(definition, descriptors, new Set(context.hosts.map(({ id }) => id))),
    ...checkShape(definition, graph),
    ...checkFilters(definition, graph, descriptors, derived),
    ...checkTraffic(definition, graph, descriptors, derived),
    ...checkMetadata(definition, context.descriptors),
    ...checkConfig(definition, descriptors),
    ...checkObjectives(definition, graph),
  ];
}
