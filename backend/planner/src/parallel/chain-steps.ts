import type { MergeBranch, NfDescriptor, ParallelStrategy } from '@orrery/contract';
import type { AssignedImplementations } from '../check/assigned-implementation.js';
import { type DescriptorIndex, indexDescriptors } from '../check/attributes.js';
import { type Path, pathName } from '../check/paths.js';
import { grouped } from '../grouped.js';
import type { ChainForm, FormEdge, FormNode } from '../igraph/chain-form.js';
import { buildSpg } from './construction/build.js';
import { nfsOf, type Series } from './construction/series.js';
import { MAX_CHAIN_NFS } from './dependency/dependencies.js';
import { mergeBranches } from './merging/branches.js';
import { SPG_STEPS, spgProblem } from './parallel-forms.js';

interface StepInput {
  readonly descriptors: readonly NfDescriptor[];
  readonly implementations: AssignedImplementations;
  /** Clock for which latencies are calculated. */
  readonly ghz: number;
  readonly strategy: ParallelStrategy;
  readonly seed: number;
}

type NfNode = Extract<FormNode, { kind: 'nf' }>;

/** NFs in line, through which the same packets pass, with the edges between them. */
interface Line {
  readonly nodes: readonly NfNode[];
  readonly edges: readonly FormEdge[];
}

/**
 * The chain with parallel steps wherever its NFs stand in line and gain by it (HydraNF 6.4.1). A line ends where the chain
 * branches, joins or filters, so that every packet that enters it passes all of its NFs or is dropped by one of them.
 */
export function withParallelSteps(form: ChainForm, input: StepInput): ChainForm {
  const catalogue = indexDescriptors(input.descriptors);
  return linesOf(form).reduce((before, line) => {
    const series = seriesOf(before, line, input);
    return series.some(({ kind }) => kind === 'parallel') ? replaced(before, line, series, catalogue) : before;
  }, form);
}

/** The lines of the chain as drawn, in which parallel steps are looked for. */
export function linePaths(form: ChainForm): Path[] {
  return linesOf(form).map((line) => pathOf(form, line));
}

function linesOf({ nodes, edges }: ChainForm): Line[] {
  const leaving = grouped(edges, ({ from }) => from ?? '');
  const entering = grouped(edges, ({ to }) => to ?? '');
  const byId = new Map(nodes.map((node) => [node.id, node]));
  /** The edge to the next NF of the line. */
  const onward = (id: string): FormEdge | null => {
    const [edge, ...others] = leaving.get(id) ?? [];
    if (!edge || others.length > 0 || edge.to === null || edge.filter.length > 0) return null;
    return entering.get(edge.to)!.length === 1 ? edge : null;
  };
  const inside = new Set(nodes.flatMap(({ id }) => onward(id)?.to ?? []));
  return nodes.flatMap((first): Line[] => {
    if (first.kind !== 'nf' || inside.has(first.id)) return [];
    const line = { nodes: [first], edges: [] as FormEdge[] };
    for (let edge = onward(first.id); edge; edge = onward(edge.to!)) {
      line.nodes.push(byId.get(edge.to!) as NfNode);
      line.edges.push(edge);
    }
    return line.nodes.length > 1 && line.nodes.length <= MAX_CHAIN_NFS ? [line] : [];
  });
}

function pathOf({ chain, edges }: ChainForm, { nodes, edges: inner }: Line): Path {
  const entry = edges.find(({ to }) => to === nodes[0]!.id)!;
  const { name } = chain.definition;
  const ids = [entry, ...inner].map(({ pgraph_edge }) => pgraph_edge.slice(name.length + 1));
  return { id: `${name}.${pathName(ids, 1)}`, nodes: nodes.map(({ node }) => node.node_id), edges: ids };
}

function seriesOf(form: ChainForm, line: Line, input: StepInput): Series {
  const { strategy, seed } = input;
  const { problem } = spgProblem(input, form.chain, pathOf(form, line));
  return buildSpg(problem, { strategy, seed, budget: { steps: SPG_STEPS } }).series;
}

/** The form with a line run as the series says. Edges inside a step stand for the line's first: all packets take it. */
function replaced(
  { chain, nodes, edges }: ChainForm,
  line: Line,
  series: Series,
  catalogue: DescriptorIndex,
): ChainForm {
  const { pgraph_edge } = line.edges[0]!;
  const { load_bps } = line.nodes[0]!.node;
  const added: FormNode[] = [];
  const wired: FormEdge[] = [];
  /** The merge at the end of each NF's branch. */
  const mergeOf = new Map<string, string>();
  const connect = (from: string, to: string, ends: Pick<FormEdge, 'copy' | 'input'> = {}) =>
    wired.push({
      id: `${pgraph_edge}.step-${wired.length}`,
      pgraph_edge,
      from,
      to,
      ...ends,
      filter: [],
      rate_bps: load_bps,
    });
  /** First and last node of a part. */
  const draw = (part: Series, depth: number, within: string | null): readonly [string, string] => {
    const ends = part.map((step): readonly [string, string] => {
      if (step.kind === 'nf') {
        const { id } = line.nodes[step.nf]!;
        if (within !== null) mergeOf.set(id, within);
        return [id, id];
      }
      const name = line.nodes[nfsOf([step])[0]!]!.id;
      const nameOf = (kind: 'mirror' | 'merge') => `${name}.${kind}${depth === 0 ? '' : `-${depth}`}`;
      const [mirror, merge] = [nameOf('mirror'), nameOf('merge')];
      const branches: readonly MergeBranch[] = mergeBranches(
        step.branches.map((branch) => nfsOf(branch).map((nf) => catalogue.get(line.nodes[nf]!.node.nf)!)),
      );
      added.push({ kind: 'mirror', id: mirror, load_bps, branches, within });
      added.push({ kind: 'merge', id: merge, load_bps, branches, mirror, within });
      for (const branch of branches.keys()) {
        const way = step.branches[branch];
        if (!way) connect(mirror, merge, { copy: branch, input: branch });
        else {
          const [head, tail] = draw(way, depth + 1, merge);
          connect(mirror, head, { copy: branch });
          connect(tail, merge, { input: branch });
        }
      }
      return [mirror, merge];
    });
    ends.slice(1).forEach(([to], i) => {
      connect(ends[i]![1], to);
    });
    return [ends[0]![0], ends.at(-1)![1]];
  };
  const [head, tail] = draw(series, 0, null);
  const [first, last] = [line.nodes[0]!.id, line.nodes.at(-1)!.id];
  const around = edges
    .filter(({ id }) => !line.edges.some((edge) => edge.id === id))
    .map((edge) => ({
      ...edge,
      to: edge.to === first ? head : edge.to,
      from: edge.from === last ? tail : edge.from,
    }));
  const marked = nodes.map((node) => (mergeOf.has(node.id) ? { ...node, merge: mergeOf.get(node.id)! } : node));
  return { chain, nodes: [...marked, ...added] as FormNode[], edges: [...around, ...wired] };
}
