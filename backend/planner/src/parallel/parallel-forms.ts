import type { NfDescriptor, ParallelForm, ParallelStrategy, PlannedPipeline, Quality } from '@orrery/contract';
import { cyclesPerPacket } from '../igraph/sizing.js';
import { indexDescriptors } from '../pipeline/attributes.js';
import { softwareImplementation } from '../pipeline/implementation.js';
import { pathsOf } from '../pipeline/paths.js';
import { buildSpg, type Spg } from './construction/build.js';
import { mergeCostUs, type SpgProblem } from './construction/problem.js';
import { nfsOf, type Series, spgText } from './construction/series.js';
import { dependencies, MAX_CHAIN_NFS, type Pair } from './dependency/dependencies.js';

const STEPS = 2000;

export interface ParallelInput {
  readonly pipelines: readonly PlannedPipeline[];
  readonly descriptors: readonly NfDescriptor[];
  /** Clock on which latencies are reckoned. */
  readonly ghz: number;
  readonly strategy: ParallelStrategy;
  readonly seed: number;
}

/** The parallel form of every linear chain of two NFs or more that traffic takes, each chain once. */
export function parallelForms(input: ParallelInput): { parallel: ParallelForm[]; quality: Quality[] } {
  const made = input.pipelines.flatMap((pipeline) =>
    linearChains(pipeline).map(({ id, nodes }) => {
      const { problem, pairs } = spgProblem(input, pipeline, nodes);
      const { strategy, seed } = input;
      const spg = buildSpg(problem, { strategy, seed, budget: { steps: STEPS } });
      return { form: formOf(pipeline.pipeline_id, id, nodes, pairs, spg), quality: qualityOf(id, spg) };
    }),
  );
  return { parallel: made.map(({ form }) => form), quality: made.map(({ quality }) => quality) };
}

/** Chains of NFs along the paths of a pipeline, named after the first path that has them. */
export function linearChains({ definition }: PlannedPipeline): { id: string; nodes: readonly string[] }[] {
  const chains = new Map<string, { id: string; nodes: readonly string[] }>();
  for (const { id, nodes } of pathsOf(definition) ?? []) {
    if (nodes.length < 2 || nodes.length > MAX_CHAIN_NFS || chains.has(nodes.join())) continue;
    chains.set(nodes.join(), { id, nodes });
  }
  return [...chains.values()];
}

export function spgProblem(
  { descriptors, ghz }: Pick<ParallelInput, 'descriptors' | 'ghz'>,
  { definition }: PlannedPipeline,
  nodes: readonly string[],
): { problem: SpgProblem; pairs: readonly Pair[] } {
  const catalogue = indexDescriptors(descriptors);
  const nf = new Map(definition.nodes.flatMap((node) => (node.kind === 'nf' ? [[node.id, node.nf] as const] : [])));
  const bytes = definition.traffic_class.packet_bytes;
  const pairs = dependencies(
    nodes.map((id) => ({ id, nf: nf.get(id)! })),
    descriptors,
  );
  const nfs = nodes.map((id) => {
    const { cost } = softwareImplementation(catalogue.get(nf.get(id)!)!)!;
    return { id, latency_us: cost.base_latency_us + cyclesPerPacket(cost, bytes) / (ghz * 1e3) };
  });
  const each_us = mergeCostUs(bytes);
  return { problem: { nfs, pairs, mirror_us: each_us, merge_us: each_us }, pairs };
}

function formOf(
  pipeline_id: string,
  id: string,
  nodes: readonly string[],
  pairs: readonly Pair[],
  spg: Spg,
): ParallelForm {
  const name = (nf: number) => nodes[nf]!;
  return {
    id,
    pipeline_id,
    nodes: [...nodes],
    strategy: spg.strategy,
    conflicts: pairs.flatMap(({ earlier, later, parallel, conflicts, order }) =>
      [...conflicts, ...order].map(({ sentence }) => ({
        earlier: name(earlier),
        later: name(later),
        parallel,
        sentence,
      })),
    ),
    critical_path: spg.critical_path.nfs.map(name),
    critical_path_us: spg.critical_path.latency_us,
    sequential_us: spg.sequential_us,
    latency_us: spg.latency_us,
    bins: widest(spg.series).map((branch) => nfsOf(branch).map(name)),
    mirrors: spg.mirrors,
    merges: spg.merges,
    copies: spg.copies,
    reverted: spg.reverted,
    text: spgText(spg.series, nodes),
    graph: graphOf(spg.series, name),
    rejected: spg.rejected.map(({ strategy, graph, latency_us, copies, because }) => ({
      strategy,
      text: graph,
      latency_us,
      copies,
      because,
    })),
  };
}

/** The branches of the step with most of them; the whole chain is one branch when there is none. */
function widest(series: Series): readonly Series[] {
  const steps = series.flatMap((step) => (step.kind === 'parallel' ? [step.branches] : []));
  return steps.reduce<readonly Series[]>((a, b) => (b.length > a.length ? b : a), [series]);
}

/** Vertices and links from left to right. */
function graphOf(series: Series, name: (nf: number) => string): ParallelForm['graph'] {
  const graph: ParallelForm['graph'] = { vertices: [], links: [] };
  let count = 0;
  append(series, null);
  return graph;

  /** The last vertex of the series, that leads on from `from`. */
  function append(part: Series, from: string | null): string | null {
    let last = from;
    for (const step of part) {
      if (step.kind === 'nf') last = add(name(step.nf), 'nf', name(step.nf), [last]);
      else {
        count++;
        const number = count;
        const mirror = add(`mirror ${number}`, 'mirror', null, [last]);
        const ends = step.branches.map((branch) => append(branch, mirror));
        last = add(`merge ${number}`, 'merge', null, ends);
      }
    }
    return last;
  }

  function add(
    id: string,
    kind: 'nf' | 'mirror' | 'merge',
    node: string | null,
    from: readonly (string | null)[],
  ): string {
    graph.vertices.push({ id, kind, node });
    for (const it of from) if (it !== null) graph.links.push({ from: it, to: id });
    return id;
  }
}

function qualityOf(subject: string, spg: Spg): Quality {
  return {
    part: 'parallelization',
    subject,
    objective: 'latency of the chain',
    unit: 'us',
    value: spg.latency_us,
    bound: Math.min(spg.lower_bound_us, spg.latency_us),
    gap: Math.min(1, spg.gap),
    optimal: spg.proven,
    method: spg.strategy,
    proof: spg.bound_by === 'every-graph' ? 'search over all series-parallel graphs' : 'critical path',
  };
}
