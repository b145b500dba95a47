import type { NfDescriptor, PipelineDefinition, PipelineProblem } from '@orrery/contract';
import { layOutMetadata, METADATA_BITS } from '../interconnection/metadata.js';

/** Whether the derived attributes that edges decide on fit the word that travels with a packet. */
export function checkMetadata(definition: PipelineDefinition, descriptors: readonly NfDescriptor[]): PipelineProblem[] {
  const { layout, needed } = layOutMetadata(definition, descriptors, new Map());
  if (layout) return [];
  const message = `the filters need ${needed} bits of derived attributes; a packet carries ${METADATA_BITS}`;
  return [{ code: 'metadata-exhausted', severity: 'error', message, pointer: '/edges' }];
}
