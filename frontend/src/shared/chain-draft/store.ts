import type { ChainDefinition } from '@orrery/contract';
import { type TemporalState, temporal } from 'zundo';
import { createStore, type StoreApi } from 'zustand';
import type { Verdict } from '../../editor-model/connect.js';
import type { Point } from '../../editor-model/edit.js';
import { NOTHING_SELECTED, pruneSelection, type Selection } from '../../editor-model/graph.js';

/** Position of the quick palette, and what to do with the selected part. */
export interface QuickAdd {
  /** In the window, pixels. */
  at: Point;
  /** On the canvas. */
  position: Point;
  purpose:
    | { kind: 'add' }
    | { kind: 'insert'; edge: string }
    | { kind: 'connect'; node: string; end: 'source' | 'target' };
}

export interface EditorState {
  definition: ChainDefinition;
  selection: Selection;
  /** While a connection is drawn: where it started, and whether each other node may end it. */
  connecting: { node: string; verdicts: ReadonlyMap<string, Verdict> } | null;
  quickAdd: QuickAdd | null;
  /** Edge on which the part that is being dragged would be inserted. */
  dropEdge: string | null;
  /** Why the text being edited is not a valid definition; null if it is, or no text is being edited. */
  unapplied: string | null;
  /** Entries that fields show and that are not applied, by a key of the field: what is wrong with each. */
  rejected: ReadonlyMap<string, string>;
  /** A node or edge to bring into view; `at` makes each request distinct. */
  reveal: { node?: string; edge?: string; at: number } | null;
}

type Undoable = Pick<EditorState, 'definition'>;

export interface EditorStore extends StoreApi<EditorState> {
  temporal: StoreApi<TemporalState<Undoable>>;
  /**
   * Changes the definition as one undo step. Steps of the same `group` within a second are combined:
   * the keystrokes of a field, the moves of a drag.
   */
  apply(change: (definition: ChainDefinition) => ChainDefinition, group?: string): void;
  /** Sets a definition as the new starting point and clears the undo history. */
  restart(definition: ChainDefinition): void;
  select(selection: Partial<Selection>): void;
  /** What is wrong with the entry that a field shows; null: nothing any more. */
  reject(key: string, problem: string | null): void;
  undo(): void;
  redo(): void;
}

const UNDO_LIMIT = 200;
const GROUP_MS = 1000;

/** `now` returns milliseconds; injected to make grouping testable. */
export function createEditorStore(
  definition: ChainDefinition,
  now: () => number = () => performance.now(),
): EditorStore {
  let last: { group: string; until: number } | null = null;
  let continues = false;
  const store = createStore<EditorState>()(
    temporal(
      (): EditorState => ({
        definition,
        selection: NOTHING_SELECTED,
        connecting: null,
        quickAdd: null,
        dropEdge: null,
        unapplied: null,
        rejected: new Map(),
        reveal: null,
      }),
      {
        partialize: (state): Undoable => ({ definition: state.definition }),
        equality: (past, current) => past.definition === current.definition,
        limit: UNDO_LIMIT,
        handleSet:
          (handleSet) =>
          (...step) => {
            if (!continues) (handleSet as (...args: unknown[]) => void)(...step);
          },
      },
    ),
  );
  const prune = () => store.setState((state) => ({ selection: pruneSelection(state.definition, state.selection) }));
  return Object.assign(store, {
    apply(change: (definition: ChainDefinition) => ChainDefinition, group?: string) {
      const before = store.getState().definition;
      const after = change(before);
      if (after === before) return;
      const time = now();
      continues = group !== undefined && last?.group === group && time < last.until;
      last = group === undefined ? null : { group, until: time + GROUP_MS };
      store.setState({ definition: after, selection: pruneSelection(after, store.getState().selection) });
      continues = false;
    },
    restart(next: ChainDefinition) {
      last = null;
      store.setState({ definition: next, selection: pruneSelection(next, store.getState().selection) });
      store.temporal.getState().clear();
    },
    select(selection: Partial<Selection>) {
      last = null;
      store.setState({ selection: { ...NOTHING_SELECTED, ...selection } });
    },
    reject(key: string, problem: string | null) {
      const rejected = new Map(store.getState().rejected);
      if (problem === null) rejected.delete(key);
      else rejected.set(key, problem);
      store.setState({ rejected });
    },
    undo() {
      last = null;
      store.temporal.getState().undo();
      prune();
    },
    redo() {
      last = null;
      store.temporal.getState().redo();
      prune();
    },
  });
}
