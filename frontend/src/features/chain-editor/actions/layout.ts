import type { ChainDefinition, ChainNode } from '@orrery/contract';
import type { ELK } from 'elkjs/lib/elk-api.js';
import workerUrl from 'elkjs/lib/elk-worker.min.js?url';
import { filterLabel } from '../../../editor-model/attributes.js';
import { type Point, TILE, tileWidth } from '../../../editor-model/edit.js';

let engine: Promise<ELK> | null = null;

/** Starts the layout worker on first use and keeps it. */
function elk(): Promise<ELK> {
  engine ??= import('elkjs/lib/elk-api.js').then((module) => {
    const Constructor = (module.default ?? module) as unknown as new (options: { workerUrl: string }) => ELK;
    return new Constructor({ workerUrl });
  });
  return engine;
}

/** The ends of the chain stand at the ends of the drawing, connected or not. */
const LAYER: Record<ChainNode['kind'], Record<string, string>> = {
  ingress: { 'elk.layered.layering.layerConstraint': 'FIRST' },
  nf: {},
  egress: { 'elk.layered.layering.layerConstraint': 'LAST' },
};

/** Positions of a layered layout from left to right; runs in a worker to keep the page responsive. */
export async function layout(definition: ChainDefinition): Promise<Map<string, Point>> {
  const labelled = definition.edges.some((edge) => edge.filter.length > 0);
  const result = await (await elk()).layout({
    id: 'chain',
    layoutOptions: {
      'elk.algorithm': 'layered',
      'elk.direction': 'RIGHT',
      'elk.layered.spacing.nodeNodeBetweenLayers': labelled ? '64' : '56',
      'elk.separateConnectedComponents': 'false',
      'elk.spacing.nodeNode': '48',
      'elk.spacing.edgeNode': '32',
      'elk.layered.nodePlacement.strategy': 'NETWORK_SIMPLEX',
      'elk.layered.considerModelOrder.strategy': 'NODES_AND_EDGES',
    },
    children: definition.nodes.map((node) => ({
      id: node.id,
      width: tileWidth(node),
      height: TILE.height,
      layoutOptions: LAYER[node.kind],
    })),
    edges: definition.edges.map((edge) => {
      const text = filterLabel(edge.filter);
      return {
        id: edge.id,
        sources: [edge.from],
        targets: [edge.to],
        labels: text ? [{ text, width: Math.min(150, 20 + text.length * 7), height: 36 }] : [],
      };
    }),
  });
  return new Map((result.children ?? []).map((node) => [node.id, { x: node.x ?? 0, y: node.y ?? 0 }]));
}
