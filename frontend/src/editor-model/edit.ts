import type {
  ChainDefinition,
  ChainEdge,
  ChainNode,
  ClassSlo,
  Filter,
  NfDescriptor,
  Slo,
  TrafficClass,
} from '@orrery/contract';
import { DIRECT_ATTRIBUTES, Name } from '@orrery/contract';
import { moveComments } from './comments.js';
import { canConnect, type Verdict } from './connect.js';
import { downstreamOf, edgeOf, nodeOf } from './graph.js';
import { freshEdgeId, freshName } from './identifiers.js';

export interface Point {
  x: number;
  y: number;
}

/** Size of a tile on the canvas, pixels; positions are snapped to the grid. */
export const TILE = { width: 208, height: 76 } as const;
/** The ends of the chain are narrower than NFs. */
export function tileWidth(node: Pick<ChainNode, 'kind'>): number {
  return node.kind === 'nf' ? TILE.width : 128;
}
export const GRID = 8;
const NODE_LIMIT = 200;

export function snap(point: Point): Point {
  return { x: Math.round(point.x / GRID) * GRID, y: Math.round(point.y / GRID) * GRID };
}

/** Layers of direct attributes: a node with such a name would be ambiguous in a filter. */
const RESERVED_IDS: ReadonlySet<string> = new Set(DIRECT_ATTRIBUTES.map((name) => name.slice(0, name.indexOf('.'))));

const nodeIds = (definition: ChainDefinition) => new Set(definition.nodes.map((node) => node.id));
const edgeIds = (definition: ChainDefinition) => new Set(definition.edges.map((edge) => edge.id));

/** What can be put on the canvas: an NF of the catalogue, or an end of the chain. */
export type Part = { kind: 'nf'; descriptor: NfDescriptor } | { kind: 'ingress' } | { kind: 'egress' };

export function partName(part: Part): string {
  return part.kind === 'nf' ? part.descriptor.id : part.kind;
}

export type Added = { ok: true; definition: ChainDefinition; node: string } | { ok: false; reason: string };

/** Adds a node with its descriptor's default configuration; moved aside if the place is taken. */
export function addPart(definition: ChainDefinition, part: Part, position?: Point): Added {
  if (definition.nodes.length >= NODE_LIMIT)
    return { ok: false, reason: `A chain can have at most ${NODE_LIMIT} nodes.` };
  if (part.kind !== 'nf' && definition.nodes.some((node) => node.kind === part.kind)) {
    return { ok: false, reason: `The chain already has its ${part.kind}.` };
  }
  const id = freshName(partName(part), nodeIds(definition));
  const place = freePosition(definition, position ?? nextPosition(definition));
  const node: ChainNode =
    part.kind === 'nf'
      ? { id, kind: 'nf', nf: part.descriptor.id, position: place, config: {} }
      : { id, kind: part.kind, position: place };
  return { ok: true, node: id, definition: { ...definition, nodes: [...definition.nodes, node] } };
}

/** To the right of everything on the canvas, on the middle row. */
export function nextPosition(definition: ChainDefinition): Point {
  const placed = definition.nodes.flatMap((node) => (node.position ? [node.position] : []));
  if (placed.length === 0) return { x: 0, y: 0 };
  const xs = placed.map((point) => point.x);
  const ys = placed.map((point) => point.y);
  return snap({ x: Math.max(...xs) + TILE.width + 48, y: (Math.min(...ys) + Math.max(...ys)) / 2 });
}

function freePosition(definition: ChainDefinition, preferred: Point): Point {
  let place = snap(preferred);
  const taken = (point: Point) =>
    definition.nodes.some(
      ({ position }) => position && Math.abs(position.x - point.x) < 24 && Math.abs(position.y - point.y) < 24,
    );
  while (taken(place)) place = { x: place.x + 32, y: place.y + 32 };
  return place;
}

/** The nearest position at or below the desired one where a tile overlaps no other. */
export function freeSpot(definition: ChainDefinition, preferred: Point): Point {
  const place = snap(preferred);
  const covers = definition.nodes.some(
    (node) =>
      node.position &&
      place.x < node.position.x + tileWidth(node) + 16 &&
      node.position.x < place.x + TILE.width + 16 &&
      Math.abs(node.position.y - place.y) < TILE.height + 16,
  );
  return covers ? freeSpot(definition, { x: place.x, y: place.y + GRID * 4 }) : place;
}

/** Space between a tile and the next one to its right. */
const GAP = 56;

/**
 * Puts a new node on an edge: the first half keeps id, filter and rate, the second matches everything. Where there is no
 * room between the two ends, what follows moves to the right.
 */
export function insertOnEdge(definition: ChainDefinition, edgeId: string, part: Part): Added {
  const edge = edgeOf(definition, edgeId);
  if (!edge) return { ok: false, reason: 'That connection is no longer in the chain.' };
  if (part.kind !== 'nf') return { ok: false, reason: 'Only an NF can be inserted into a connection.' };
  const from = nodeOf(definition, edge.from);
  const to = nodeOf(definition, edge.to);
  if (!from?.position || !to?.position) return splitEdge(definition, edge, part);
  const start = from.position.x + tileWidth(from) + GAP;
  const missing = start + TILE.width + GAP - to.position.x;
  const room =
    missing > 0 ? shiftRight(definition, [to.id, ...downstreamOf(definition, [to.id])], missing) : definition;
  const x = missing > 0 ? start : (start - GAP + to.position.x - TILE.width) / 2;
  return splitEdge(room, edge, part, { x, y: (from.position.y + to.position.y) / 2 });
}

function shiftRight(definition: ChainDefinition, ids: readonly string[], by: number): ChainDefinition {
  const moved = new Set(ids);
  const positions = definition.nodes.flatMap(({ id, position }) =>
    position && moved.has(id) ? [[id, { x: position.x + by, y: position.y }] as const] : [],
  );
  return applyLayout(definition, new Map(positions));
}

function splitEdge(definition: ChainDefinition, edge: ChainEdge, part: Part, position?: Point): Added {
  const added = addPart(definition, part, position);
  if (!added.ok) return added;
  const second: ChainEdge = {
    id: freshEdgeId(edgeIds(definition)),
    from: added.node,
    to: edge.to,
    filter: [],
    ...(edge.rate_bps === undefined ? {} : { rate_bps: edge.rate_bps }),
  };
  const edges = definition.edges.flatMap((each) =>
    each.id === edge.id ? [{ ...each, to: added.node }, second] : [each],
  );
  return { ...added, definition: { ...added.definition, edges } };
}

export function removeEdges(definition: ChainDefinition, ids: Iterable<string>): ChainDefinition {
  const gone = new Set(ids);
  const kept = { ...definition, edges: definition.edges.filter((edge) => !gone.has(edge.id)) };
  return [...gone].reduce((result, id) => moveComments(result, `/edges/${id}`, null), kept);
}

/**
 * Removes nodes with their edges. With `reconnect`, predecessors of a removed node are connected to its successors, with the
 * conjunction of both filters without the attributes that the removed node derived.
 */
export function removeNodes(
  definition: ChainDefinition,
  ids: Iterable<string>,
  { reconnect = false }: { reconnect?: boolean } = {},
): ChainDefinition {
  let result = definition;
  for (const id of ids) result = removeNode(result, id, reconnect);
  return result;
}

function removeNode(definition: ChainDefinition, id: string, reconnect: boolean): ChainDefinition {
  if (!nodeOf(definition, id)) return definition;
  const before = definition.edges.filter((edge) => edge.to === id);
  const behind = definition.edges.filter((edge) => edge.from === id);
  const loose = removeEdges(
    definition,
    [...before, ...behind].map((edge) => edge.id),
  );
  let result: ChainDefinition = moveComments(
    { ...loose, nodes: definition.nodes.filter((node) => node.id !== id) },
    `/nodes/${id}`,
    null,
  );
  if (!reconnect) return result;
  for (const incoming of before) {
    for (const outgoing of behind) {
      const filter = mergeFilters(incoming.filter, outgoing.filter, id);
      const twin = result.edges.some(
        (edge) => edge.from === incoming.from && edge.to === outgoing.to && sameFilter(edge.filter, filter),
      );
      if (twin || filter.length > 16 || !canConnect(result, incoming.from, outgoing.to).ok) continue;
      const rate = outgoing.rate_bps ?? incoming.rate_bps;
      const edge: ChainEdge = {
        id: freshEdgeId(edgeIds(result)),
        from: incoming.from,
        to: outgoing.to,
        filter,
        ...(rate === undefined ? {} : { rate_bps: rate }),
      };
      result = { ...result, edges: [...result.edges, edge] };
    }
  }
  return result;
}

function mergeFilters(first: Filter, second: Filter, removedNode: string): Filter {
  const kept = [...first, ...second].filter((term) => !term.attribute.startsWith(`${removedNode}.`));
  return kept.filter((term, index) => kept.findIndex((other) => sameFilter([term], [other])) === index);
}

/** Same terms in any order; values are compared as text, because `80` and `"80"` mean the same. */
export function sameFilter(a: Filter, b: Filter): boolean {
  const key = (filter: Filter) => filter.map((term) => `${term.attribute}\0${term.op}\0${term.value}`).sort();
  return a.length === b.length && key(a).join('\n') === key(b).join('\n');
}

/** Whether the node can have the id: a valid name that no other node has. */
export function canRename(definition: ChainDefinition, id: string, newId: string): Verdict {
  const parsed = Name.safeParse(newId);
  if (!parsed.success) return { ok: false, reason: `The id ${parsed.error.issues[0]?.message ?? 'is not valid'}.` };
  if (RESERVED_IDS.has(newId)) return { ok: false, reason: `${newId} names fields of the packet in filters.` };
  if (newId !== id && nodeOf(definition, newId)) return { ok: false, reason: `Another node is called ${newId}.` };
  return { ok: true };
}

/** Renames a node, including its edges and filters. Unchanged if `canRename` is false. */
export function renameNode(definition: ChainDefinition, id: string, newId: string): ChainDefinition {
  if (id === newId || !nodeOf(definition, id) || !canRename(definition, id, newId).ok) return definition;
  const follow = (name: string) => (name === id ? newId : name);
  const renamed: ChainDefinition = {
    ...definition,
    nodes: definition.nodes.map((node) => (node.id === id ? { ...node, id: newId } : node)),
    edges: definition.edges.map((edge) => ({
      ...edge,
      from: follow(edge.from),
      to: follow(edge.to),
      filter: renameInFilter(edge.filter, follow),
    })),
  };
  return moveComments(renamed, `/nodes/${id}`, `/nodes/${newId}`);
}

/** Rewrites the node part of derived attributes. */
export function renameInFilter(filter: Filter, follow: (node: string) => string): Filter {
  return filter.map((term) => {
    const dot = term.attribute.indexOf('.');
    const node = term.attribute.slice(0, dot);
    const renamed = follow(node);
    return renamed === node ? term : { ...term, attribute: `${renamed}${term.attribute.slice(dot)}` };
  });
}

function mapNode(definition: ChainDefinition, id: string, change: (node: ChainNode) => ChainNode): ChainDefinition {
  return { ...definition, nodes: definition.nodes.map((node) => (node.id === id ? change(node) : node)) };
}

function mapEdge(definition: ChainDefinition, id: string, change: (edge: ChainEdge) => ChainEdge): ChainDefinition {
  return { ...definition, edges: definition.edges.map((edge) => (edge.id === id ? change(edge) : edge)) };
}

/** Sets what the tile shows; an empty title falls back to the id. */
export function retitleNode(definition: ChainDefinition, id: string, title: string): ChainDefinition {
  return mapNode(definition, id, ({ title: _, ...node }) => (title ? { ...node, title } : node));
}

/** Sets the configuration of the node that differs from its descriptor's defaults. */
export function updateConfig(
  definition: ChainDefinition,
  id: string,
  config: Record<string, unknown>,
): ChainDefinition {
  return mapNode(definition, id, (node) => (node.kind === 'nf' ? { ...node, config } : node));
}

export function setFilter(definition: ChainDefinition, edgeId: string, filter: Filter): ChainDefinition {
  return mapEdge(definition, edgeId, (edge) => ({ ...edge, filter }));
}

/** Sets the estimate of an edge's traffic; `null` leaves it to the planner. */
export function setEdgeRate(definition: ChainDefinition, edgeId: string, rateBps: number | null): ChainDefinition {
  return mapEdge(definition, edgeId, ({ rate_bps: _, ...edge }) =>
    rateBps === null ? edge : { ...edge, rate_bps: rateBps },
  );
}

export function setClass(definition: ChainDefinition, trafficClass: TrafficClass): ChainDefinition {
  return { ...definition, traffic_class: trafficClass };
}

export function setSlos(definition: ChainDefinition, slos: Slo[]): ChainDefinition {
  return { ...definition, slos };
}

export function setClassSlos(definition: ChainDefinition, classSlos: ClassSlo[]): ChainDefinition {
  return { ...definition, class_slos: classSlos };
}

export function setDetails(
  definition: ChainDefinition,
  details: Partial<Pick<ChainDefinition, 'name' | 'title' | 'description'>>,
): ChainDefinition {
  return { ...definition, ...details };
}

/** Moves the nodes in `positions` and snaps them to the grid. */
export function applyLayout(definition: ChainDefinition, positions: ReadonlyMap<string, Point>): ChainDefinition {
  return {
    ...definition,
    nodes: definition.nodes.map((node) => {
      const position = positions.get(node.id);
      return position ? { ...node, position: snap(position) } : node;
    }),
  };
}

/** A position for each node without one: column by distance from the start of the chain, row by order. */
export function withPositions(definition: ChainDefinition): ChainDefinition {
  if (definition.nodes.every((node) => node.position)) return definition;
  const column = columns(definition);
  const rows = new Map<number, number>();
  return {
    ...definition,
    nodes: definition.nodes.map((node) => {
      const x = column.get(node.id) ?? 0;
      const row = rows.get(x) ?? 0;
      rows.set(x, row + 1);
      return node.position ? node : { ...node, position: { x: x * (TILE.width + 72), y: row * (TILE.height + 48) } };
    }),
  };
}

/** Longest distance of each node from a node without predecessor; a cycle stops at the number of nodes. */
function columns(definition: ChainDefinition): Map<string, number> {
  const column = new Map(definition.nodes.map((node) => [node.id, 0]));
  for (let round = 0; round < definition.nodes.length; round++) {
    let moved = false;
    for (const edge of definition.edges) {
      const from = column.get(edge.from);
      const to = column.get(edge.to);
      if (from !== undefined && to !== undefined && to < from + 1) {
        column.set(edge.to, from + 1);
        moved = true;
      }
    }
    if (!moved) break;
  }
  return column;
}
