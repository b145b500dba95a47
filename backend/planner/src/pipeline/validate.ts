import type { HostNode, NfDescriptor, PipelineDefinition, PipelineProblem } from '@orrery/contract';

/** What a definition is checked against. */
export interface PipelineContext {
  readonly descriptors: readonly NfDescriptor[];
  readonly hosts: readonly Pick<HostNode, 'id'>[];
}

/**
 * Every problem of a definition, in the order of the document; none with severity `error` means that it can be planned.
 * Precondition: the definition has been parsed by the contract's schema. Never throws.
 */
export function validatePipeline(_definition: PipelineDefinition, _context: PipelineContext): PipelineProblem[] {
  return [];
}
