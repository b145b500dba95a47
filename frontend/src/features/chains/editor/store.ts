import type { PipelineDefinition } from '@orrery/contract';
import { type TemporalState, temporal } from 'zundo';
import { createStore, type StoreApi } from 'zustand';
import type { Verdict } from '../../../editor-model/connect.js';
import type { Point } from '../../../editor-model/edit.js';
import { NOTHING_SELECTED, pruneSelection, type Selection } from '../../../editor-model/graph.js';

/** Where the quick palette is open, and what becomes of the choice. */
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
  definition: PipelineDefinition;
  selection: Selection;
  /** While a connection is drawn: where it started, and whether each other node may end it. */
  connecting: { node: string; verdicts: ReadonlyMap<string, Verdict> } | null;
  quickAdd: QuickAdd | null;
  /** Edge on which the part that is being dragged would be inserted. */
  dropEdge: string | null;
  /** Why the text that is being written is not the definition; null when it is, or nobody writes text. */
  unapplied: string | null;
  /** A node or edge to bring into view; `at` makes each wish a new one. */
  reveal: { node?: string; edge?: string; at: number } | null;
}

type Undoable = Pick<EditorState, 'definition'>;

export interface EditorStore extends StoreApi<EditorState> {
  temporal: StoreApi<TemporalState<Undoable>>;
  /**
   * Changes the definition as one step of undo. Steps of the same `group` that follow each other within a second are one:
   * the keystrokes of a field, the moves of a drag.
   */
  apply(change: (definition: PipelineDefinition) => PipelineDefinition, group?: string): void;
  /** Takes another definition as the starting point: nothing before it can be undone. */
  restart(definition: PipelineDefinition): void;
  select(selection: Partial<Selection>): void;
  undo(): void;
  redo(): void;
}

const UNDO_LIMIT = 200;
const GROUP_MS = 1000;

/** `now` gives milliseconds; it is passed in so that grouping can be tested. */
export function createEditorStore(
  definition: PipelineDefinition,
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
    apply(change: (definition: PipelineDefinition) => PipelineDefinition, group?: string) {
      const before = store.getState().definition;
      const after = change(before);
      if (after === before) return;
      const time = now();
      continues = group !== undefined && last?.group === group && time < last.until;
      last = group === undefined ? null : { group, until: time + GROUP_MS };
      store.setState({ definition: after, selection: pruneSelection(after, store.getState().selection) });
      continues = false;
    },
    restart(next: PipelineDefinition) {
      last = null;
      store.setState({ definition: next, selection: pruneSelection(next, store.getState().selection) });
      store.temporal.getState().clear();
    },
    select(selection: Partial<Selection>) {
      last = null;
      store.setState({ selection: { ...NOTHING_SELECTED, ...selection } });
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
