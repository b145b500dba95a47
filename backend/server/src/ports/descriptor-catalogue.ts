import type { NfDescriptor } from '@orrery/contract';

export const DESCRIPTORS = Symbol('DescriptorCatalogue');

/** The NFs that can be used; fixed while the server runs. */
export interface DescriptorCatalogue {
  all(): readonly NfDescriptor[];
  find(id: string): NfDescriptor | undefined;
}
