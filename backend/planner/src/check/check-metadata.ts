import type { ChainDefinition, ChainProblem, NfDescriptor } from '@orrery/contract';
import { layOutMetadata, METADATA_BITS } from '../lower/metadata.js';

/** Whether the derived attributes that edges decide on fit the word that travels with a packet. */
export function checkMetadata(definition: ChainDefinition, descriptors: readonly NfDescriptor[]): ChainProblem[] {
  const { layout, needed } = layOutMetadata(definition, descriptors, new Map());
  if (layout) return [];
  const message = `the filters need ${needed} bits of derived attributes; a packet carries ${METADATA_BITS}`;
  return [{ code: 'metadata-exhausted', severity: 'error', message, pointer: '/edges' }];
}
