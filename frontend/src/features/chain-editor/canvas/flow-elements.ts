import type { ChainDefinition } from '@orrery/contract';
import { MarkerType, type Node } from '@xyflow/react';
import { edgeLabel } from '../../../editor-model/diff.js';
import { TILE, tileWidth, withPositions } from '../../../editor-model/edit.js';
import { nodeLabel, nodeOf, type Selection } from '../../../editor-model/graph.js';
import { parallelOffset } from './edge-path.js';
import type { FlowEdgeType } from './flow-edge.js';

export type TileNode = Node<Record<string, never>, 'tile'>;

export function isMove(definition: ChainDefinition, positions: ReadonlyMap<string, { x: number; y: number }>): boolean {
  return [...positions].some(([id, to]) => {
    const from = nodeOf(definition, id)?.position;
    return !from || from.x !== to.x || from.y !== to.y;
  });
}

/** Applies the canvas's selection changes to a list of ids, keeping the order of selection. */
export function follow(ids: readonly string[], changes: readonly { id: string; selected: boolean }[]): string[] {
  const off = new Set(changes.filter((change) => !change.selected).map((change) => change.id));
  const on = changes.filter((change) => change.selected && !ids.includes(change.id)).map((change) => change.id);
  return [...ids.filter((id) => !off.has(id)), ...on];
}

/** Unchanged tiles are the same objects, so that only changed ones are redrawn. */
export function tileNodes(definition: ChainDefinition, selection: Selection, before: readonly TileNode[]): TileNode[] {
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

/** Unchanged edges are the same objects, so that only changed ones are redrawn. */
export function flowEdges(
  definition: ChainDefinition,
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
