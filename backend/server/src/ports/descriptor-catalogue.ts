import type { NfDescriptor } from '@orrery/contract';

export const DESCRIPTORS = Symbol('DescriptorCatalogue');

/** The available NFs; constant while the server runs. */
export interface DescriptorCatalogue {
  all(): readonly NfDescriptor[];
  find(id: string): NfDescriptor | undefined;
}
