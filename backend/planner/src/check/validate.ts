import type { ChainDefinition, ChainProblem, HostNode, NfDescriptor } from '@orrery/contract';
import type { Budget } from '../budget.js';
import { indexDescriptors, usedDerived } from './attributes.js';
import { checkConfig } from './check-config.js';
import { checkFilters } from './check-filters.js';
import { checkGoals } from './check-goals.js';
import { checkMetadata } from './check-metadata.js';
import { checkObjectives } from './check-objectives.js';
import { checkPreserved } from './check-preserved.js';
import { checkReferences, checkShape } from './check-structure.js';
import { checkTraffic } from './check-traffic.js';
import { graphOf } from './graph.js';

/**
 * Steps of a check (`stepsOf`), far more than any chain in use needs. One takes at most about 1.5 us, whatever the fields,
 * derived attributes and intervals of its boxes: a check takes some tenths of a second at most.
 */
export const CHECK_STEPS = 200_000;

/** Context of a validation. */
export interface ChainContext {
  readonly descriptors: readonly NfDescriptor[];
  readonly hosts: readonly Pick<HostNode, 'id'>[];
}

/**
 * Every problem of a definition; it can be planned when none has severity `error`. The same check runs in the browser
 * and in the server. What the budget does not suffice to prove is an error that says so. Precondition: the contract's
 * schema has parsed the definition. Never throws.
 */
export function validateChain(
  definition: ChainDefinition,
  context: ChainContext,
  budget: Budget = { steps: CHECK_STEPS },
): ChainProblem[] {
  const descriptors = indexDescriptors(context.descriptors);
  const graph = graphOf(definition);
  const derived = usedDerived(definition, graph, descriptors);
  return [
    ...checkReferences(definition, descriptors, new Set(context.hosts.map(({ id }) => id))),
    ...checkShape(definition, graph),
    ...checkFilters(definition, graph, descriptors, derived),
    ...checkTraffic(definition, graph, descriptors, derived, budget),
    ...checkMetadata(definition, context.descriptors),
    ...checkConfig(definition, descriptors),
    ...checkGoals(definition, descriptors),
    ...checkObjectives(definition, graph),
    ...checkPreserved(definition, graph, descriptors),
  ];
}
