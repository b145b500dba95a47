import { notifications } from '@mantine/notifications';
import type { ChainDefinition } from '@orrery/contract';
import { useReactFlow } from '@xyflow/react';
import { useMemo } from 'react';
import {
  copy,
  duplicate,
  type Fragment,
  fragmentFromYaml,
  fragmentToYaml,
  paste,
} from '../../../editor-model/clipboard.js';
import { connect, connectEither } from '../../../editor-model/connect.js';
import {
  addPart,
  applyLayout,
  freeSpot,
  insertOnEdge,
  type Part,
  type Point,
  removeEdges,
  removeNodes,
  TILE,
} from '../../../editor-model/edit.js';
import { extendSelection, nodeOf, type Selection, selectAll } from '../../../editor-model/graph.js';
import { useEditorContext } from '../../../shared/chain-draft/context.js';
import type { QuickAdd } from '../../../shared/chain-draft/store.js';
import { layout } from './layout.js';

/** Maximum number of nodes at which a chain is readable with all of it in view. */
export const SMALL_CHAIN = 16;

/** Shows a brief notification of why something was not done. */
export function refuse(reason: string): void {
  notifications.show({ id: 'chain-editor', message: reason, color: 'yellow', autoClose: 5000 });
}

/** Whether every tile lies within the canvas. */
function allInView(): boolean {
  const pane = document.querySelector('.react-flow')?.getBoundingClientRect();
  if (!pane) return false;
  return [...document.querySelectorAll('.react-flow__node')].every((node) => {
    const box = node.getBoundingClientRect();
    return box.left >= pane.left && box.right <= pane.right && box.top >= pane.top && box.bottom <= pane.bottom;
  });
}

/** Runs once the latest change has been rendered. */
function afterPaint(run: () => void): void {
  requestAnimationFrame(() => requestAnimationFrame(run));
}

/** All actions on the chain, shared by keys, buttons and gestures. */
export function useEditorActions() {
  const { store, readOnly } = useEditorContext();
  const flow = useReactFlow();
  return useMemo(() => {
    const state = () => store.getState();
    const allowed = () => {
      if (readOnly) refuse('You have read-only access to this chain.');
      return !readOnly;
    };

    const middle = (): Point => {
      const pane = document.querySelector('.react-flow')?.getBoundingClientRect();
      const centre = pane
        ? flow.screenToFlowPosition({ x: pane.x + pane.width / 2, y: pane.y + pane.height / 2 })
        : { x: 0, y: 0 };
      return { x: centre.x - TILE.width / 2, y: centre.y - TILE.height / 2 };
    };

    /** Adds or moves nodes; a small chain that was fully in view stays in view. */
    const change = (definition: ChainDefinition, selection: Partial<Selection>) => {
      const whole = state().definition.nodes.length <= SMALL_CHAIN && allInView();
      store.apply(() => definition);
      store.select(selection);
      if (!whole) return;
      afterPaint(() => {
        if (!allInView()) actions.fit();
      });
    };

    const actions = {
      /** Adds a part at a position, otherwise right of the selected node, otherwise in the middle of the view. */
      add(part: Part, position?: Point): string | null {
        if (!allowed()) return null;
        const { definition, selection } = state();
        const selected = selection.nodes.length === 1 ? nodeOf(definition, selection.nodes[0]!)?.position : undefined;
        const beside = selected && { x: selected.x + TILE.width + 72, y: selected.y };
        const result = addPart(definition, part, position ?? freeSpot(definition, beside ?? middle()));
        if (!result.ok) {
          refuse(result.reason);
          return null;
        }
        change(result.definition, { nodes: [result.node] });
        store.setState({ reveal: { node: result.node, at: Date.now() } });
        return result.node;
      },

      insert(edge: string, part: Part): void {
        if (!allowed()) return;
        const result = insertOnEdge(state().definition, edge, part);
        if (!result.ok) {
          refuse(result.reason);
          return;
        }
        change(result.definition, { nodes: [result.node] });
      },

      connect(from: string, to: string): void {
        if (!allowed()) return;
        const result = connect(state().definition, from, to);
        if (!result.ok) {
          refuse(result.reason);
          return;
        }
        store.apply(() => result.definition);
        store.select({ edges: [result.edge] });
      },

      /** Connects the two selected nodes, in the order of selection if that is allowed. */
      connectSelected(): void {
        if (!allowed()) return;
        const { definition, selection } = state();
        const [first, second, ...more] = selection.nodes;
        if (!first || !second || more.length > 0) {
          refuse('Select two nodes to connect them.');
          return;
        }
        const result = connectEither(definition, first, second);
        if (!result.ok) {
          refuse(result.reason);
          return;
        }
        store.apply(() => result.definition);
        store.select({ edges: [result.edge] });
      },

      /** Adds a part and connects it with the node from which the operator drew. */
      addConnected(part: Part, { position, purpose }: QuickAdd): void {
        if (purpose.kind === 'insert') {
          actions.insert(purpose.edge, part);
          return;
        }
        const node = actions.add(part, position);
        if (!node || purpose.kind !== 'connect') return;
        if (purpose.end === 'source') actions.connect(purpose.node, node);
        else actions.connect(node, purpose.node);
        store.select({ nodes: [node] });
      },

      removeSelected(reconnect: boolean): void {
        if (!allowed()) return;
        const { selection } = state();
        if (selection.nodes.length + selection.edges.length === 0) return;
        store.apply((definition) =>
          removeNodes(removeEdges(definition, reconnect ? [] : selection.edges), selection.nodes, { reconnect }),
        );
      },

      duplicateSelected(): void {
        if (!allowed()) return;
        const result = duplicate(state().definition, state().selection);
        if (!result.ok) {
          refuse(result.reason);
          return;
        }
        change(result.definition, result.selection);
      },

      /** Text of the selection for the clipboard, or null when no node is selected. */
      copyText(): string | null {
        const { definition, selection } = state();
        return selection.nodes.length > 0 ? fragmentToYaml(copy(definition, selection)) : null;
      },

      paste(text: string): void {
        if (!allowed()) return;
        const fragment: Fragment | null = fragmentFromYaml(text);
        if (!fragment) {
          refuse('The clipboard does not contain part of a chain.');
          return;
        }
        const result = paste(state().definition, fragment);
        if (!result.ok) {
          refuse(result.reason);
          return;
        }
        change(result.definition, result.selection);
      },

      selectAll: () => store.select(selectAll(state().definition)),
      extend: (towards: 'upstream' | 'downstream') =>
        store.select(extendSelection(state().definition, state().selection, towards)),

      async arrange(): Promise<void> {
        if (!allowed()) return;
        try {
          const positions = await layout(state().definition);
          store.apply((definition) => applyLayout(definition, positions));
          requestAnimationFrame(() => void flow.fitView({ padding: 0.08, maxZoom: 1, duration: 120 }));
        } catch (error) {
          refuse(`The layout failed: ${(error as Error).message}`);
        }
      },

      fit: () => void flow.fitView({ padding: 0.08, maxZoom: 1, duration: 120 }),

      /** Fits the view to a chain that is small enough to be readable. */
      refit(): void {
        if (state().definition.nodes.length <= SMALL_CHAIN) actions.fit();
      },

      /** Opens the quick palette: on the selected edge, else in the middle of the view. */
      openQuickAdd(): void {
        if (!allowed()) return;
        const pane = document.querySelector('.react-flow')?.getBoundingClientRect();
        const at = pane ? { x: pane.x + pane.width / 2, y: pane.y + pane.height / 3 } : { x: 400, y: 200 };
        const { selection } = state();
        const edge = selection.nodes.length === 0 && selection.edges.length === 1 ? selection.edges[0] : undefined;
        store.setState({
          quickAdd: { at, position: middle(), purpose: edge ? { kind: 'insert', edge } : { kind: 'add' } },
        });
      },
    };
    return actions;
  }, [store, flow, readOnly]);
}

export type EditorActions = ReturnType<typeof useEditorActions>;
