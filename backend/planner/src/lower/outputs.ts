import { FLOW_SPACE, type FlowRange, type GraphEdge, type OutputSpec, type Target } from '@orrery/contract';
import { derivedValues, indexDescriptors } from '../check/attributes.js';
import { graphOf } from '../check/graph.js';
import { matchTerms } from '../check/resolve-filter.js';
import { grouped } from '../grouped.js';
import type { ChainToLower } from './input.js';

/** What leaves each node of one chain. */
export class Outputs {
  private readonly exits: ReadonlySet<string>;
  private readonly leaving: ReadonlyMap<string | null, readonly GraphEdge[]>;
  private readonly match: (edge: GraphEdge) => OutputSpec['match'];

  constructor({ graph, descriptors, layout, chain: { definition } }: ChainToLower) {
    this.exits = new Set(graph.nodes.filter(({ kind }) => kind === 'exit').map(({ id }) => id));
    this.leaving = grouped(graph.edges, ({ from }) => from ?? '');
    const catalogue = indexDescriptors(descriptors);
    const drawn = graphOf(definition);
    this.match = ({ filter }) => matchTerms(filter, (attribute) => derivedValues(attribute, drawn, catalogue), layout);
  }

  /** One output for each key of its forward edges, in their order; edges of one key differ in their range only. */
  of(node: string, keyOf: (edge: GraphEdge) => string): OutputSpec[] {
    const forward = (this.leaving.get(node) ?? []).filter(({ direction }) => direction === 'forward');
    return [...grouped(forward, keyOf).values()].map(
      (parts): OutputSpec => ({
        edge_id: parts[0]!.pgraph_edge!,
        match: this.match(parts[0]!),
        key: parts.length > 1 ? parts[0]!.key : [],
        targets: wholeSpace(parts.map((part) => ({ range: part.range, to: this.target(part) }))),
      }),
    );
  }

  reply(node: string): Target | null {
    const edge = this.leaving.get(node)?.find(({ direction }) => direction === 'return');
    return edge ? this.target(edge) : null;
  }

  private target({ to, hop }: GraphEdge): Target {
    if (this.exits.has(to)) return { kind: 'exit', exit_id: to };
    return hop === null ? { kind: 'instance', instance_id: to } : { kind: 'hop', hop };
  }
}

/** Widens the outer ranges to the ends, so that a flow that was split otherwise a moment ago still finds a target. */
function wholeSpace<T extends { range: FlowRange }>(targets: T[]): T[] {
  return targets.map((target, i) => ({
    ...target,
    range: {
      lo: i === 0 ? 0 : target.range.lo,
      hi: i === targets.length - 1 ? FLOW_SPACE : target.range.hi,
    },
  }));
}
