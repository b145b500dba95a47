import type {
  Calibration,
  Infrastructure,
  NfDescriptor,
  ParallelForm,
  ParallelStrategy,
  PlannedChain,
  Quality,
} from '@orrery/contract';
import { type AssignedImplementations, costOfWork } from '../check/assigned-implementation.js';
import { indexDescriptors } from '../check/attributes.js';
import { configuredNf } from '../check/configured-nf.js';
import { descriptorsByNode } from '../check/graph.js';
import { readsStreams } from '../check/implementation.js';
import { type Path, pathsOf } from '../check/paths.js';
import { COPY, type EngineCost, MERGE } from '../engine-costs.js';
import { pgraphNodeId } from '../igraph/pgraph.js';
import { cyclesPerPacket } from '../igraph/sizing.js';
import type { Recall } from '../recall.js';
import { buildSpg, type Spg } from './construction/build.js';
import { diagramOf, widestBranches } from './construction/diagram.js';
import type { SpgProblem } from './construction/problem.js';
import { spgText } from './construction/series.js';
import { decidedPairs } from './dependency/decided-pairs.js';
import { dependencies, type Pair } from './dependency/dependencies.js';
import { provisionForm } from './provisioned-forms.js';

/** Work of the strategies that search. */
export const SPG_STEPS = 200;

interface ParallelInput {
  readonly chains: readonly PlannedChain[];
  readonly descriptors: readonly NfDescriptor[];
  /** Clock for which latencies are calculated. */
  readonly ghz: number;
  readonly strategy: ParallelStrategy;
  readonly seed: number;
  /** A switch copies packets for mirrors. */
  readonly switch_mirrors: boolean;
  readonly infrastructure: Infrastructure;
  readonly calibration?: Calibration;
  readonly implementations: AssignedImplementations;
  readonly rateOf: (chain: PlannedChain, path: Path) => number;
  readonly expired: () => boolean;
  /** Graphs that were found, by problem. */
  readonly known: Map<string, Spg>;
  readonly recall: Recall;
}

/** The parallel form of one linear chain. Errors: `BadProblem` for too long a chain. */
export function parallelForm(
  input: ParallelInput,
  chain: PlannedChain,
  path: Path,
): { form: ParallelForm; quality: Quality[] } {
  const { problem, pairs } = spgProblem(input, chain, path);
  const spg = graphFor(input, problem);
  const graph = { chain, path, series: spg.series, rate_bps: input.rateOf(chain, path) };
  const provisioned = spg.mirrors > 0 ? provisionForm(input, graph) : null;
  const form = formOf(chain.chain_id, path, pairs, spg, provisioned?.form ?? null);
  return { form, quality: [qualityOf(path.id, spg), ...(provisioned?.quality ? [provisioned.quality] : [])] };
}

/** Cache: many chains have the same graph problem. */
function graphFor({ strategy, seed, expired, known, recall }: ParallelInput, problem: SpgProblem): Spg {
  const key = JSON.stringify(problem);
  const before = known.get(key);
  if (before) return before;
  const spg = recall.of('spg', key, () => buildSpg(problem, { strategy, seed, budget: { steps: SPG_STEPS, expired } }));
  known.set(key, spg);
  return spg;
}

/** Distinct NF sequences of paths with two NFs or more. */
export function linearChains({ definition }: PlannedChain): Path[] {
  const chains = new Map<string, Path>();
  for (const path of pathsOf(definition) ?? []) {
    const { nodes } = path;
    if (nodes.length >= 2 && !chains.has(nodes.join())) chains.set(nodes.join(), path);
  }
  return [...chains.values()];
}

export function spgProblem(
  { descriptors, implementations, ghz }: Pick<ParallelInput, 'descriptors' | 'implementations' | 'ghz'>,
  { definition }: PlannedChain,
  path: Path,
): { problem: SpgProblem; pairs: readonly Pair[] } {
  const { nodes } = path;
  const catalogue = indexDescriptors(descriptors);
  const nf = descriptorsByNode(definition);
  const bytes = definition.traffic_class.packet_bytes;
  const configs = new Map(definition.nodes.map((node) => [node.id, node.kind === 'nf' ? node.config : {}]));
  const chain = nodes.map((id) => {
    const descriptor = catalogue.get(nf.get(id)!);
    return {
      id,
      nf: nf.get(id)!,
      readsStreams: descriptor !== undefined && readsStreams(descriptor, configs.get(id)!),
    };
  });
  const pairs = decidedPairs(dependencies(chain, descriptors), definition, path, catalogue);
  const usOf = (cost: EngineCost) => cyclesPerPacket(cost, bytes) / (ghz * 1e3);
  const nfs = nodes.map((id) => {
    const descriptor = configuredNf(catalogue.get(nf.get(id)!)!, definition, id);
    const cost = costOfWork(implementations, pgraphNodeId(definition.name, id), descriptor);
    return { id, latency_us: cost.base_latency_us + usOf(cost) };
  });
  return { problem: { nfs, pairs, mirror_us: usOf(COPY), merge_us: usOf(MERGE) }, pairs };
}

function formOf(
  chain_id: string,
  { id, nodes }: Path,
  pairs: readonly Pair[],
  spg: Spg,
  provisioning: ParallelForm['provisioning'],
): ParallelForm {
  const name = (nf: number) => nodes[nf]!;
  const diagram = diagramOf(spg.series);
  return {
    id,
    chain_id,
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
    bins: widestBranches(spg.series).map((branch) => branch.map(name)),
    mirrors: spg.mirrors,
    merges: spg.merges,
    copies: spg.copies,
    reverted: spg.reverted,
    text: spgText(spg.series, nodes),
    graph: {
      vertices: diagram.vertices.map(({ id: vertex, kind, nf }) => ({
        id: vertex,
        kind,
        node: nf === null ? null : name(nf),
      })),
      links: [...diagram.links],
    },
    rejected: spg.rejected.map(({ strategy, graph, latency_us, copies, because }) => ({
      strategy,
      text: graph,
      latency_us,
      copies,
      because,
    })),
    provisioning,
  };
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
    optimal: spg.gap < 1e-9,
    method: spg.strategy,
    proof: spg.bound_by === 'every-graph' ? 'search over all series-parallel graphs' : 'critical path',
  };
}
