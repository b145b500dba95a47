import type { ChainDefinition } from '@orrery/contract';
import type { Spending } from '../budget.js';
import { type DescriptorIndex, derivedValues, wayAttribute } from './attributes.js';
import { type ChainGraph, topologicalOrder } from './graph.js';
import { interval } from './interval-set.js';
import {
  allPackets,
  type Box,
  type DerivedDomains,
  forget,
  hasPorts,
  hull,
  intersectBoxes,
  mergeBoxes,
  stepsOf,
} from './packet-space.js';
import { filterBox } from './resolve-filter.js';

/** Beyond this many boxes a node's packets are rounded up to two: a superset, so that no finding is lost. */
const MAX_BOXES = 200;

/**
 * The packets that may leave each node, exactly where no NF rewrites headers: a rewritten field may hold any value.
 * An NF that derives an attribute sets it on every packet. With a cycle, all packets may leave every node. Nodes that the
 * budget does not reach are absent; a look at a box takes its `stepsOf`.
 */
export function packetsLeaving(
  definition: ChainDefinition,
  graph: ChainGraph,
  descriptors: DescriptorIndex,
  derived: DerivedDomains,
  spending: Spending,
): ReadonlyMap<string, readonly Box[]> {
  const valuesOf = (attribute: string) => derivedValues(attribute, graph, descriptors);
  const order = topologicalOrder(graph);
  const leaving = new Map<string, readonly Box[]>();
  if (!order) {
    const anything = allPackets(derived).map(
      (box) => new Map([...box].filter(([dimension]) => !derived.has(dimension))),
    );
    for (const id of graph.nodes.keys()) leaving.set(id, anything);
    return leaving;
  }
  const classBox = filterBox(definition.traffic_class.match, valuesOf, derived);
  for (const id of order) {
    const node = graph.nodes.get(id)!;
    const arriving: Box[] = [];
    if (node.kind === 'ingress' && classBox) arriving.push(...overlap(allPackets(derived), classBox));
    for (const edge of graph.incoming.get(id)!) {
      const box = filterBox(edge.filter, valuesOf, derived);
      const before = leaving.get(edge.from)!;
      if (!spending.spend(stepsOf(before))) return leaving;
      if (box) arriving.push(...overlap(before, box));
    }
    let boxes = arriving;
    const ways = node.kind === 'ingress' ? derived.get(wayAttribute(id)) : undefined;
    if (ways !== undefined) boxes = boxes.map((box) => new Map(box).set(wayAttribute(id), interval(1, ways)));
    const descriptor = node.kind === 'nf' ? descriptors.get(node.nf) : undefined;
    if (descriptor) {
      const { writes, adds, removes } = descriptor.actions;
      const written = new Set<string>([...writes, ...adds, ...removes]);
      boxes = boxes.flatMap((box) => forget(box, written));
      for (const { name } of descriptor.attributes) {
        const count = derived.get(`${id}.${name}`);
        if (count !== undefined) boxes = boxes.map((box) => new Map(box).set(`${id}.${name}`, interval(1, count)));
      }
    }
    const known = bounded(boxes, derived, spending);
    if (spending.isOver) return leaving;
    leaving.set(id, known);
  }
  return leaving;
}

export function overlap(boxes: readonly Box[], with_: Box): Box[] {
  return boxes.map((box) => intersectBoxes(box, with_)).filter((box) => box !== null);
}

function bounded(boxes: readonly Box[], derived: DerivedDomains, spending: Spending): Box[] {
  const merged = boxes.length > 4 * MAX_BOXES ? boxes : mergeBoxes(boxes, derived, spending);
  if (merged.length <= MAX_BOXES) return [...merged];
  const regions = [merged.filter((box) => hasPorts(box)), merged.filter((box) => !hasPorts(box))];
  return regions.filter((region) => region.length > 0).map((region) => hull(region, derived));
}
