import { type Connection, type FinalConnectionState, useReactFlow } from '@xyflow/react';
import { useCallback, useRef } from 'react';
import { canConnect } from '../../../editor-model/connect.js';
import { TILE } from '../../../editor-model/edit.js';
import { useEditorContext } from '../../../shared/chain-draft/context.js';
import { type EditorActions, refuse } from '../actions/use-editor-actions.js';
import { verdictsFor } from './quick-add.js';

function dropPosition(point: { x: number; y: number }, end: 'source' | 'target') {
  return { x: end === 'source' ? point.x : point.x - TILE.width, y: point.y - TILE.height / 2 };
}

/** Canvas behaviour while a connection is drawn, by dragging or two clicks, and on its end. */
export function useConnecting(actions: EditorActions) {
  const { store, readOnly } = useEditorContext();
  const onConnectStart = useCallback(
    (_: unknown, { nodeId, handleType }: { nodeId: string | null; handleType: 'source' | 'target' | null }) => {
      if (!nodeId || !handleType) return;
      const { definition: now } = store.getState();
      store.setState({ connecting: { node: nodeId, verdicts: verdictsFor(now, nodeId, handleType) } });
    },
    [store],
  );
  const onConnectEnd = useCallback(
    (event: MouseEvent | TouchEvent, state: FinalConnectionState) => {
      store.setState({ connecting: null });
      const start = state.fromNode?.id;
      const end = state.fromHandle?.type;
      if (state.isValid || !start || !end) return;
      const point = 'changedTouches' in event ? event.changedTouches[0] : event;
      if (!point) return;
      const under = document.elementFromPoint(point.clientX, point.clientY);
      const node = under?.closest('.react-flow__node')?.getAttribute('data-id') ?? state.toNode?.id;
      if (node === start) return;
      if (node) {
        if (end === 'source') actions.connect(start, node);
        else actions.connect(node, start);
        return;
      }
      if (readOnly || !under?.closest('.react-flow__pane')) return;
      store.setState({
        quickAdd: {
          at: { x: point.clientX, y: point.clientY },
          position: dropPosition(flowPoint.current({ x: point.clientX, y: point.clientY }), end),
          purpose: { kind: 'connect', node: start, end },
        },
      });
    },
    [store, actions, readOnly],
  );
  const flow = useReactFlow();
  const flowPoint = useRef(flow.screenToFlowPosition);
  flowPoint.current = flow.screenToFlowPosition;

  const onConnect = useCallback(({ source, target }: Connection) => actions.connect(source, target), [actions]);
  const isValidConnection = useCallback(
    ({ source, target }: { source: string; target: string }) =>
      canConnect(store.getState().definition, source, target).ok,
    [store],
  );
  const onClickConnectEnd = useCallback(
    (_: unknown, state: FinalConnectionState) => {
      store.setState({ connecting: null });
      const [start, end] = [state.fromNode?.id, state.toNode?.id];
      if (state.isValid || !start || !end || start === end) return;
      const verdict =
        state.fromHandle?.type === 'source'
          ? canConnect(store.getState().definition, start, end)
          : canConnect(store.getState().definition, end, start);
      if (!verdict.ok) refuse(verdict.reason);
    },
    [store],
  );
  return {
    onConnect,
    onConnectStart,
    onConnectEnd,
    onClickConnectStart: onConnectStart,
    onClickConnectEnd,
    isValidConnection,
  };
}
