import type { NfDescriptor } from '@orrery/contract';

export const DESCRIPTORS = Symbol('DescriptorCatalogue');

/** Chains that use an NF, by title. */
export interface NfUse {
  readonly deployed: readonly string[];
  /** In their drafts. */
  readonly drafted: readonly string[];
}

/** The available NFs. */
export interface NfDescriptors {
  /** The same array until one changes. */
  all(): readonly NfDescriptor[];
  find(id: string): NfDescriptor | undefined;
}

/** The available NFs, those that users described among them. */
export interface DescriptorCatalogue extends NfDescriptors {
  /** Ids of those that users described. */
  legacyOfUsers(): readonly string[];
  /** Identifies how the NF is described: another one where anything of it differs. Null: there is none. */
  revisionOf(id: string): string | null;
  /** An NF in use is not removed, and not changed while it is deployed. */
  askUse(useOf: (nf: string) => NfUse): void;
}
