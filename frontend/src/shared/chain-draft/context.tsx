import type { Chain, ChainDefinition, Infrastructure, NfDescriptor, NfInstance } from '@orrery/contract';
import { createContext, useContext } from 'react';
import { type StoreApi, useStore } from 'zustand';
import type { Difference } from '../../editor-model/diff.js';
import type { ProblemIndex } from '../../editor-model/problems.js';
import type { EditorState, EditorStore } from './store.js';

/** Derived from the definition and the deployment. Parts are subscribed to separately, because there are many tiles. */
export interface Derived {
  problems: ProblemIndex;
  /** The chain is as it was made, without an NF: what it still lacks is not a mistake of anybody yet. */
  untouched: boolean;
  /** Running instances by node. */
  placed: ReadonlyMap<string, readonly NfInstance[]>;
  deployed: ChainDefinition | null;
  /** Draft against the deployed version; empty when nothing is deployed. */
  differences: readonly Difference[];
}

/** What the parts of the editor share besides the store. */
export interface EditorContextValue {
  store: EditorStore;
  derived: StoreApi<Derived>;
  chain: Chain;
  descriptors: readonly NfDescriptor[];
  infrastructure: Infrastructure | null;
  readOnly: boolean;
}

export const EditorContext = createContext<EditorContextValue | null>(null);

export function useEditorContext(): EditorContextValue {
  const value = useContext(EditorContext);
  if (!value) throw new Error('outside of the chain editor');
  return value;
}

export function useEditor<T>(select: (state: EditorState) => T): T {
  return useStore(useEditorContext().store, select);
}

export function useDerived<T>(select: (derived: Derived) => T): T {
  return useStore(useEditorContext().derived, select);
}

export function useDescriptor(nf: string | undefined): NfDescriptor | undefined {
  return useEditorContext().descriptors.find((descriptor) => descriptor.id === nf);
}
