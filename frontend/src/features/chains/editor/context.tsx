import type { Infrastructure, NfDescriptor, NfInstance, Pipeline, PipelineDefinition } from '@orrery/contract';
import { createContext, useContext } from 'react';
import { type StoreApi, useStore } from 'zustand';
import type { Difference } from '../../../editor-model/diff.js';
import type { ProblemIndex } from '../../../editor-model/problems.js';
import type { EditorState, EditorStore } from './store.js';

/** What follows from the definition and from what runs. Its parts are read one by one, because tiles are many. */
export interface Derived {
  problems: ProblemIndex;
  /** Running instances by node. */
  placed: ReadonlyMap<string, readonly NfInstance[]>;
  deployed: PipelineDefinition | null;
  /** Draft against the deployed version; empty when nothing is deployed. */
  differences: readonly Difference[];
}

/** What the editor's parts share beside the store. */
export interface EditorContextValue {
  store: EditorStore;
  derived: StoreApi<Derived>;
  pipeline: Pipeline;
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
