import '@xyflow/react/dist/base.css';
import {
  applyNodeChanges,
  Background,
  BackgroundVariant,
  Controls,
  type EdgeChange,
  MiniMap,
  type NodeChange,
  Panel,
  ReactFlow,
  SelectionMode,
} from '@xyflow/react';
import { useCallback, useEffect, useState } from 'react';
import { applyLayout, GRID } from '../../../editor-model/edit.js';
import { useEditor, useEditorContext } from '../../../shared/chain-draft/context.js';
import type { EditorActions } from '../actions/use-editor-actions.js';
import classes from './canvas.module.css';
import { FlowEdge, type FlowEdgeType } from './flow-edge.js';
import { flowEdges, follow, isMove, type TileNode, tileNodes } from './flow-elements.js';
import { Tile } from './tile.js';
import { useConnecting } from './use-connecting.js';
import { useReveal } from './use-reveal.js';

const NODE_TYPES = { tile: Tile };
const EDGE_TYPES = { flow: FlowEdge };

interface CanvasProps {
  readonly actions: EditorActions;
  readonly minimap: boolean;
}

/** The chain as a graph, edited by mouse, touch or keyboard. The definition is the model; this only mirrors it. */
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

  const connecting = useConnecting(actions);

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
      {...connecting}
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
