import {
  FLOW_SPACE,
  type FlowRange,
  type GraphEdge,
  type KeepFlows,
  type MirrorNode,
  nfInstances,
  type OutputSpec,
  type Target,
} from '@orrery/contract';
import { derivedValues, indexDescriptors } from '../check/attributes.js';
import { graphOf } from '../check/graph.js';
import { matchTerms } from '../check/resolve-filter.js';
import { grouped } from '../grouped.js';
import { askedSplit, keptByEngines, keptInFront } from '../igraph/asked-split.js';
import { WHOLE_RANGE } from '../igraph/flow-range.js';
import { fullKey } from '../igraph/partition.js';
import type { ChainToLower } from './input.js';
import { awayBranches } from './switch-mirrors.js';

/** What leaves each node of one chain. */
export class Outputs {
  private readonly exits: ReadonlySet<string>;
  private readonly leaving: ReadonlyMap<string | null, readonly GraphEdge[]>;
  private readonly match: (edge: GraphEdge) => OutputSpec['match'];

  /** The flows of the NF at the end of an edge that stay at their instances. */
  private readonly kept: (edge: GraphEdge) => KeepFlows | null;

  /** By staged split: by what it tells flows apart, and those that it keeps even where it leads to one instance. */
  private readonly staged: ReadonlyMap<string | null, Pick<OutputSpec, 'key' | 'keep_flows'>>;

  constructor({ graph, descriptors, layout, chain }: ChainToLower) {
    const { definition } = chain;
    this.exits = new Set(graph.nodes.filter(({ kind }) => kind === 'exit').map(({ id }) => id));
    this.leaving = grouped(graph.edges, ({ from }) => from ?? '');
    const catalogue = indexDescriptors(descriptors);
    const drawn = graphOf(definition);
    const instances = new Map(nfInstances(graph).map((instance) => [instance.id, instance]));
    this.kept = ({ to }) => {
      const instance = instances.get(to);
      return instance ? keptByEngines(askedSplit(chain, instance.node_id), catalogue.get(instance.nf)!.affinity) : null;
    };
    this.staged = new Map(
      graph.nodes.flatMap((node) => {
        if (node.kind !== 'split' || node.in_front_of === undefined) return [];
        const nf = definition.nodes.find(({ id }) => id === node.node_id);
        const { affinity } = catalogue.get(nf?.kind === 'nf' ? nf.nf : '')!;
        return [[node.id, { key: fullKey(affinity), keep_flows: keptInFront(askedSplit(chain, node.node_id)) }]];
      }),
    );
    this.match = ({ filter }) => matchTerms(filter, (attribute) => derivedValues(attribute, drawn, catalogue), layout);
  }

  /** One output for each key of its forward edges, in their order; edges of one key differ in their range only. */
  of(node: string, keyOf: (edge: GraphEdge) => string): OutputSpec[] {
    const forward = (this.leaving.get(node) ?? []).filter(({ direction }) => direction === 'forward');
    return [...grouped(forward, keyOf).values()].map((parts) => this.output(parts));
  }

  private output(parts: readonly GraphEdge[]): OutputSpec {
    const [first] = parts as [GraphEdge];
    const kept = first.key.length > 0 ? this.kept(first) : null;
    return {
      edge_id: first.pgraph_edge!,
      match: this.match(first),
      key: parts.length > 1 || kept ? first.key : [],
      targets: wholeSpace(parts.map((part) => ({ range: part.range, to: this.target(part) }))),
      ...(kept ? { keep_flows: kept } : {}),
      ...this.staged.get(first.from),
    };
  }

  /** What a mirror sends: a copy for each branch, or one for all those to which a switch copies it. */
  copies({ id, hop }: MirrorNode): {
    own: { edge: GraphEdge; output: OutputSpec }[];
    away: { edges: readonly GraphEdge[]; output: OutputSpec } | null;
  } {
    const leaving = this.leaving.get(id) ?? [];
    const away = hop === null ? [] : awayBranches(leaving);
    const own = [...grouped(leaving, ({ copy }) => String(copy)).values()].filter(([edge]) => !away.includes(edge!));
    return {
      own: own.map((parts) => ({ edge: parts[0]!, output: this.output(parts) })),
      away:
        hop === null
          ? null
          : {
              edges: away,
              output: {
                edge_id: away[0]!.pgraph_edge!,
                match: [],
                key: [],
                targets: [{ range: WHOLE_RANGE, to: { kind: 'hop', hop } }],
              },
            },
    };
  }

  reply(node: string): Target | null {
    const edge = this.leaving.get(node)?.find(({ direction }) => direction === 'return');
    return edge ? this.target(edge) : null;
  }

  /** Where an NF or merge announces the packets that it drops. */
  noOp(node: string): Target | null {
    const edge = this.leaving.get(node)?.find(({ direction }) => direction === 'no-op');
    return edge ? this.target(edge) : null;
  }

  private target({ to, hop, input }: GraphEdge): Target {
    if (this.exits.has(to)) return { kind: 'exit', exit_id: to };
    if (hop !== null) return { kind: 'hop', hop };
    return { kind: 'instance', instance_id: to, ...(input === undefined ? {} : { input }) };
  }
}

/** Widens the outer ranges to the ends, so that a flow that was split otherwise a moment ago still finds a target. */
function wholeSpace<T extends { range: FlowRange }>(targets: T[]): T[] {
  const first = Math.min(...targets.map(({ range }) => range.lo));
  const last = Math.max(...targets.map(({ range }) => range.hi));
  return targets.map((target) => {
    const { lo, hi } = target.range;
    return { ...target, range: { lo: lo === first ? 0 : lo, hi: hi === last ? FLOW_SPACE : hi } };
  });
}
