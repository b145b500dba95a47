import '@xyflow/react/dist/base.css';
import type { PipelineDefinition } from '@orrery/contract';
import {
  applyNodeChanges,
  Background,
  BackgroundVariant,
  type Connection,
  Controls,
  type EdgeChange,
  type FinalConnectionState,
  MarkerType,
  MiniMap,
  type Node,
  type NodeChange,
  Panel,
  ReactFlow,
  SelectionMode,
  useReactFlow,
} from '@xyflow/react';
import { useCallback, useEffect, useRef, useState } from 'react';
import { canConnect } from '../../../editor-model/connect.js';
import { edgeLabel } from '../../../editor-model/diff.js';
import { applyLayout, GRID, TILE, tileWidth, withPositions } from '../../../editor-model/edit.js';
import { nodeLabel, nodeOf, type Selection } from '../../../editor-model/graph.js';
import classes from './canvas.module.css';
import { useEditor, useEditorContext } from './context.js';
import { parallelOffset } from './edge-path.js';
import { FlowEdge, type FlowEdgeType } from './flow-edge.js';
import { verdictsFor } from './quick-add.js';
import { Tile } from './tile.js';
import { type EditorActions, refuse, SMALL_CHAIN } from './use-editor-actions.js';

const NODE_TYPES = { tile: Tile };
const EDGE_TYPES = { flow: FlowEdge };
type TileNode = Node<Record<string, never>, 'tile'>;

interface CanvasProps {
  readonly actions: EditorActions;
  readonly minimap: boolean;
}

/** The chain as a graph that is edited with mouse, touch or keys. The definition is the model; this only mirrors it. */
export function Canvas({ actions, minimap }: CanvasProps) {
  const { store, readOnly } = useEditorContext();
  const definition = useEditor((state) => state.definition);
  const selection = useEditor((state) => state.selection);
  const [nodes, setNodes] = useState<TileNode[]>(() => tileNodes(definition, selection, []));
  const [edges, setEdges] = useState<FlowEdgeType[]>(() => flowEdges(definition, selection, []));
  useEffect(() => {
    setNodes((before) => tileNodes(definition, selection, before));
    setEdges((before) => flowEdges(definition, selection, before));
  }, [definition, selection]);
  useReveal();

  const onNodesChange = useCallback(
    (changes: NodeChange<TileNode>[]) => {
      const moved = changes.flatMap((change) =>
        change.type === 'position' && change.dragging === false && change.position
          ? [[change.id, change.position] as const]
          : [],
      );
      setNodes((before) => applyNodeChanges(changes, before));
      if (moved.length > 0) {
        const positions = new Map(moved);
        store.apply((before) => (isMove(before, positions) ? applyLayout(before, positions) : before), 'move');
      }
      const selected = changes.filter((change) => change.type === 'select');
      if (selected.length > 0) {
        const { selection: now } = store.getState();
        store.setState({ selection: { ...now, nodes: follow(now.nodes, selected) } });
      }
    },
    [store],
  );
  const onEdgesChange = useCallback(
    (changes: EdgeChange<FlowEdgeType>[]) => {
      const selected = changes.filter((change) => change.type === 'select');
      if (selected.length === 0) return;
      const { selection: now } = store.getState();
      store.setState({ selection: { ...now, edges: follow(now.edges, selected) } });
    },
    [store],
  );

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

  return (
    <ReactFlow<TileNode, FlowEdgeType>
      className={classes.flow}
      aria-label="Chain canvas"
      tabIndex={-1}
      nodes={nodes}
      edges={edges}
      nodeTypes={NODE_TYPES}
      edgeTypes={EDGE_TYPES}
      onNodesChange={onNodesChange}
      onEdgesChange={onEdgesChange}
      onConnect={onConnect}
      onConnectStart={onConnectStart}
      onConnectEnd={onConnectEnd}
      onClickConnectStart={onConnectStart}
      onClickConnectEnd={onClickConnectEnd}
      isValidConnection={isValidConnection}
      connectionRadius={24}
      nodesDraggable={!readOnly}
      nodesConnectable={!readOnly}
      deleteKeyCode={null}
      multiSelectionKeyCode={['Shift', 'Control', 'Meta']}
      selectionKeyCode="Shift"
      selectionMode={SelectionMode.Partial}
      panActivationKeyCode={null}
      snapToGrid
      snapGrid={[GRID, GRID]}
      minZoom={0.15}
      maxZoom={2}
      fitView
      fitViewOptions={{ padding: 0.08, maxZoom: 1 }}
      zoomOnDoubleClick={false}
      elevateNodesOnSelect
      proOptions={{ hideAttribution: true }}
      ariaLabelConfig={{
        'node.a11yDescription.default':
          'Press Enter to select. Arrow keys move a selected node, C connects two selected ones, Delete removes.',
        'edge.a11yDescription.default': 'Press Enter to select. Delete removes, I inserts an NF.',
      }}
    >
      <Background variant={BackgroundVariant.Dots} gap={GRID * 3} size={1} color="var(--o-border)" />
      <Controls
        position="bottom-left"
        showInteractive={false}
        className={classes.controls}
        fitViewOptions={{ padding: 0.08, maxZoom: 1 }}
      />
      {minimap && (
        <MiniMap
          className={classes.minimap}
          pannable
          zoomable
          ariaLabel="Overview of the chain"
          nodeColor="var(--o-border-strong)"
          nodeStrokeWidth={0}
          maskColor="color-mix(in srgb, var(--o-canvas) 70%, transparent)"
          style={{ width: 144, height: 88 }}
        />
      )}
      {definition.nodes.every((node) => node.kind !== 'nf') && (
        <Panel position="top-center" className={classes.hint}>
          Drag an NF from the palette on the left, or search it with <kbd>/</kbd> and press <kbd>Enter</kbd>.
        </Panel>
      )}
    </ReactFlow>
  );
}

/** Brings the wished node or edge into view, and the keyboard to it. */
function useReveal(): void {
  const { store } = useEditorContext();
  const reveal = useEditor((state) => state.reveal);
  const flow = useReactFlow();
  useEffect(() => {
    if (!reveal) return;
    const { definition } = store.getState();
    const edge = reveal.edge ? definition.edges.find((each) => each.id === reveal.edge) : undefined;
    const ids = edge ? [edge.from, edge.to] : reveal.node ? [reveal.node] : [];
    const pane = document.querySelector('.react-flow')?.getBoundingClientRect();
    const frame = requestAnimationFrame(() => {
      const outside = ids.some((id) => {
        const box = document.querySelector(`.react-flow__node[data-id="${id}"]`)?.getBoundingClientRect();
        return (
          !box ||
          !pane ||
          box.left < pane.left ||
          box.right > pane.right ||
          box.top < pane.top ||
          box.bottom > pane.bottom
        );
      });
      if (!outside) return;
      // The whole chain when it can be read so, else what was asked for.
      const small = flow.getNodes().length <= SMALL_CHAIN;
      void flow.fitView({
        nodes: small ? undefined : ids.map((id) => ({ id })),
        padding: small ? 0.08 : 0.4,
        duration: 120,
        minZoom: 0.4,
        maxZoom: 1,
      });
    });
    return () => cancelAnimationFrame(frame);
  }, [reveal, store, flow]);
}

function dropPosition(point: { x: number; y: number }, end: 'source' | 'target') {
  return { x: end === 'source' ? point.x : point.x - TILE.width, y: point.y - TILE.height / 2 };
}

function isMove(definition: PipelineDefinition, positions: ReadonlyMap<string, { x: number; y: number }>): boolean {
  return [...positions].some(([id, to]) => {
    const from = nodeOf(definition, id)?.position;
    return !from || from.x !== to.x || from.y !== to.y;
  });
}

/** Applies the canvas's selection changes to a list of ids, keeping the order of selection. */
function follow(ids: readonly string[], changes: readonly { id: string; selected: boolean }[]): string[] {
  const off = new Set(changes.filter((change) => !change.selected).map((change) => change.id));
  const on = changes.filter((change) => change.selected && !ids.includes(change.id)).map((change) => change.id);
  return [...ids.filter((id) => !off.has(id)), ...on];
}

function tileNodes(definition: PipelineDefinition, selection: Selection, before: readonly TileNode[]): TileNode[] {
  const old = new Map(before.map((node) => [node.id, node]));
  const selected = new Set(selection.nodes);
  return withPositions(definition).nodes.map((node): TileNode => {
    const known = old.get(node.id);
    const position = node.position!;
    const label = `${nodeLabel(node)}, ${node.kind === 'nf' ? node.nf : node.kind}`;
    if (
      known &&
      known.selected === selected.has(node.id) &&
      known.ariaLabel === label &&
      known.position.x === position.x &&
      known.position.y === position.y
    ) {
      return known;
    }
    return {
      ...known,
      id: node.id,
      type: 'tile',
      data: {},
      position,
      selected: selected.has(node.id),
      ariaLabel: label,
      ...(known ? {} : { initialWidth: tileWidth(node), initialHeight: TILE.height }),
    };
  });
}

/** Edges that are as before are the same objects, so that only what changed is drawn again. */
function flowEdges(
  definition: PipelineDefinition,
  selection: Selection,
  before: readonly FlowEdgeType[],
): FlowEdgeType[] {
  const old = new Map(before.map((edge) => [edge.id, edge]));
  const selected = new Set(selection.edges);
  const parallel = new Map<string, string[]>();
  for (const edge of definition.edges) {
    const key = `${edge.from}>${edge.to}`;
    parallel.set(key, [...(parallel.get(key) ?? []), edge.id]);
  }
  return definition.edges.map((edge) => {
    const siblings = parallel.get(`${edge.from}>${edge.to}`) ?? [];
    const offset = parallelOffset(siblings.indexOf(edge.id), siblings.length);
    const ariaLabel = `Connection ${edgeLabel(definition, edge)}`;
    const known = old.get(edge.id);
    if (
      known &&
      known.source === edge.from &&
      known.target === edge.to &&
      known.selected === selected.has(edge.id) &&
      known.ariaLabel === ariaLabel &&
      known.data?.offset === offset
    ) {
      return known;
    }
    return {
      id: edge.id,
      type: 'flow',
      source: edge.from,
      target: edge.to,
      selected: selected.has(edge.id),
      ariaLabel,
      data: { offset },
      markerEnd: {
        type: MarkerType.ArrowClosed,
        width: 12,
        height: 12,
        color: selected.has(edge.id) ? 'var(--o-accent)' : 'var(--o-border-strong)',
      },
    };
  });
}
