import type { HostNode, NfDescriptor, PipelineDefinition, PipelineProblem } from '@orrery/contract';
import { indexDescriptors, usedDerived } from './attributes.js';
import { checkConfig } from './check-config.js';
import { checkFilters } from './check-filters.js';
import { checkMetadata } from './check-metadata.js';
import { checkObjectives } from './check-objectives.js';
import { checkReferences, checkShape } from './check-structure.js';
import { checkTraffic } from './check-traffic.js';
import { graphOf } from './graph.js';

/** What a definition is checked against. */
export interface PipelineContext {
  readonly descriptors: readonly NfDescriptor[];
  readonly hosts: readonly Pick<HostNode, 'id'>[];
}

/**
 * Every problem of a definition; it can be planned when none has severity `error`. The same check runs in the browser
 * and in the server. Precondition: the contract's schema has parsed the definition. Never throws.
 */
export function validatePipeline(definition: PipelineDefinition, context: PipelineContext): PipelineProblem[] {
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
