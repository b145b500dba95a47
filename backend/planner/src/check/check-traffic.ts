import type { ChainDefinition, ChainEdge, ChainProblem } from '@orrery/contract';
import { type Budget, Spending } from '../budget.js';
import { type DescriptorIndex, derivedValues } from './attributes.js';
import { describePacket } from './describe-packet.js';
import type { ChainGraph } from './graph.js';
import { type Box, type DerivedDomains, intersectBoxes, mergeBoxes, stepsOf, subtractBox } from './packet-space.js';
import { overlap, packetsLeaving } from './reach.js';
import { faultOf, filterBox } from './resolve-filter.js';

const MAX_PAIRS_A_NODE = 8;
/** Pieces of one node's traffic after which the search for uncovered packets gives up and says so. */
const MAX_PIECES = 1000;

/**
 * Decides for each node whether one packet can match two of its edges, whether some packet matches none, and
 * whether some edge is never taken: over intervals, prefixes and declared values, for the packets that get there. What the
 * budget does not reach is an error that says so: a chain is not taken for sound because its check ended.
 */
export function checkTraffic(
  definition: ChainDefinition,
  graph: ChainGraph,
  descriptors: DescriptorIndex,
  derived: DerivedDomains,
  budget: Budget,
): ChainProblem[] {
  const spending = new Spending(budget);
  const problems: ChainProblem[] = [];
  const valuesOf = (attribute: string) => derivedValues(attribute, graph, descriptors);
  const leaving = packetsLeaving(definition, graph, descriptors, derived, spending);
  const unproven: string[] = [];
  const nodeIndex = new Map(definition.nodes.map(({ id }, i) => [id, i]));
  const edgeIndex = new Map(definition.edges.map((edge, i) => [edge, i]));

  for (const [id, edges] of graph.outgoing) {
    if (edges.some(({ filter }) => filter.some((term) => faultOf(term, valuesOf)))) continue;
    const boxes = new Map(edges.map((edge) => [edge, filterBox(edge.filter, valuesOf, derived)]));
    if (edges.length === 0 || (edges.length === 1 && edges[0]!.filter.length === 0)) continue;
    const packets = leaving.get(id);
    if (!packets || spending.isOver) {
      unproven.push(id);
      continue;
    }
    if (packets.length === 0) continue;
    const found = problems.length;
    for (const [a, b, both] of overlappingPairs(edges, boxes)) {
      if (!spending.spend(stepsOf(packets))) break;
      const common = overlap(packets, both)[0];
      if (!common) continue;
      problems.push({
        code: 'ambiguous-edges',
        severity: 'error',
        message: `a packet can follow both "${a.id}" and "${b.id}": ${describePacket(common, valuesOf)}`,
        pointer: `/edges/${edgeIndex.get(b)}/filter`,
        node: id,
        edge: b.id,
      });
      if (problems.length - found >= MAX_PAIRS_A_NODE) break;
    }
    const covers = edges.map((edge) => boxes.get(edge)).filter((box) => box !== null && box !== undefined);
    const left = uncovered(packets, covers, derived, spending);
    if (spending.isOver) {
      unproven.push(id);
      continue;
    }
    if (left === 'too many') {
      const message = `"${id}" has too many filters to tell whether they cover its traffic`;
      problems.push({ ...warning(nodeIndex.get(id)!, id), message });
    } else if (left[0]) {
      const fate = graph.nodes.get(id)!.kind === 'ingress' ? 'bypass the chain' : 'are dropped';
      const message = `packets that match no edge of "${id}" ${fate}, for example ${describePacket(left[0], valuesOf)}`;
      problems.push({ ...warning(nodeIndex.get(id)!, id), message });
    }
    for (const [edge, box] of boxes) {
      if (!box || overlap(packets, box).length > 0) continue;
      problems.push({
        code: 'bad-filter',
        severity: 'warning',
        message: `no packet that reaches "${id}" can take this edge`,
        pointer: `/edges/${edgeIndex.get(edge)}/filter`,
        edge: edge.id,
      });
    }
  }
  const [first] = unproven;
  if (first !== undefined) {
    const others = unproven.length === 1 ? '' : ` and ${unproven.length - 1} more`;
    problems.push({
      code: 'ambiguous-edges',
      severity: 'error',
      message: `not proven: the check ended before it could tell whether each packet of "${first}"${others} follows one edge only; use fewer or simpler filters`,
      pointer: `/nodes/${nodeIndex.get(first)}`,
      node: first,
    });
  }
  return problems;
}

function warning(index: number, node: string) {
  return { code: 'uncovered-traffic', severity: 'warning', pointer: `/nodes/${index}`, node } as const;
}

function* overlappingPairs(
  edges: readonly ChainEdge[],
  boxes: ReadonlyMap<ChainEdge, Box | null>,
): Generator<[ChainEdge, ChainEdge, Box]> {
  for (let i = 0; i < edges.length; i++) {
    for (let j = 0; j < i; j++) {
      const a = boxes.get(edges[j]!);
      const b = boxes.get(edges[i]!);
      const both = a && b ? intersectBoxes(a, b) : null;
      if (both) yield [edges[j]!, edges[i]!, both];
    }
  }
}

/** What no filter takes of the packets, or `too many` when it falls into more pieces than are looked at. */
export function uncovered(
  packets: readonly Box[],
  filters: readonly Box[],
  derived: DerivedDomains,
  spending: Spending,
): readonly Box[] | 'too many' {
  let left = packets;
  let mergeAt = 64;
  for (const filter of filters) {
    if (!spending.spend(stepsOf(left))) return 'too many';
    left = left.flatMap((box) => subtractBox(box, filter, derived));
    if (left.length > MAX_PIECES) return 'too many';
    if (left.length <= mergeAt) continue;
    left = mergeBoxes(left, derived, spending);
    mergeAt = Math.max(64, 2 * left.length);
  }
  return left;
}
