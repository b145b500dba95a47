import {
  type BoardPlace,
  DIRECT_ATTRIBUTES,
  type DirectAttribute,
  FLOW_SPACE,
  type FlowKey,
  type FlowRange,
  type NfDescriptor,
  type Plan,
  type PlannedPipeline,
} from '@orrery/contract';
import { BadProblem } from '../bad-problem.js';
import { type DescriptorIndex, indexDescriptors } from '../pipeline/attributes.js';
import { costOnCore, type Form, type Forms, formOf } from '../pipeline/forms.js';
import { graphOf, type PipelineGraph, reachableFrom, topologicalOrder } from '../pipeline/graph.js';
import { directFields } from '../pipeline/resolve-filter.js';
import { type PGraph, type PGraphEdge, type PGraphNode, pgraphNodeId } from './pgraph.js';
import { cyclesPerPacket, packetRate } from './sizing.js';

type Constraint = Plan['conflicts'][number];

/** An instance before it has a place. */
interface UnplacedInstance {
  readonly id: string;
  readonly pgraph_node: string;
  readonly pipeline_id: string;
  readonly node_id: string;
  readonly nf: string;
  readonly ordinal: number;
  readonly driver: Plan['instances'][number]['driver'];
  readonly board?: BoardPlace;
  readonly load_bps: number;
  readonly load_pps: number;
  readonly cycles_per_second: number;
  readonly memory_bytes: number;
}

/** Traffic from one instance to another (`null`: the fabric's edge), told from its siblings by the flow range. */
export interface InstanceEdge {
  readonly id: string;
  readonly pgraph_edge: string;
  readonly from: string | null;
  readonly to: string | null;
  readonly key: FlowKey;
  readonly range: FlowRange;
  readonly rate_bps: number;
}

/**
 * How the traffic of a node is spread over its instances. `hash`: by the engines' flow hash over `key`, instance i has
 * the i-th range. `switch`: by the switch's own hash over `key`, which engines cannot compute; `steady` when packets equal
 * in `key` always meet the same instance. `follow`: instance i gets what instance i of `origin` let through, without
 * classifying again (E2 figure 3.3 d).
 */
export type Partition =
  | { readonly kind: 'single' }
  | { readonly kind: 'hash'; readonly key: FlowKey }
  | { readonly kind: 'switch'; readonly key: FlowKey; readonly steady: boolean }
  | { readonly kind: 'follow'; readonly key: FlowKey; readonly origin: string };

export interface InstanceGraph {
  readonly instances: readonly UnplacedInstance[];
  readonly edges: readonly InstanceEdge[];
  readonly partitions: ReadonlyMap<string, Partition>;
  readonly conflicts: readonly Constraint[];
}

/** Edges between instances that a plan can hold: two NFs that are both split many times take their product. */
const MAX_INSTANCE_EDGES = 100_000;

export const WHOLE_RANGE: FlowRange = { lo: 0, hi: FLOW_SPACE };

/** The i-th of n equal parts of the flow space. */
function equalRange(i: number, n: number): FlowRange {
  return { lo: Math.floor((i * FLOW_SPACE) / n), hi: Math.floor(((i + 1) * FLOW_SPACE) / n) };
}

/** Part of the flow space that the i-th of n equal ranges has: whole identities, so not quite 1/n. */
function portion(i: number, n: number): number {
  const { lo, hi } = equalRange(i, n);
  return (hi - lo) / FLOW_SPACE;
}

/**
 * Splits every PGraph node into its instances and wires them so that packets equal in an NF's affinity fields meet the
 * same instance (E2 3.4.1 step 3, figure 3.3). Where that cannot be had, the conflict says why.
 * Errors: `BadProblem` for more edges than a plan can hold.
 */
export function buildIGraph(
  pgraph: PGraph,
  pipelines: readonly PlannedPipeline[],
  descriptors: readonly NfDescriptor[],
  forms: Forms = new Map(),
): InstanceGraph {
  const catalogue = indexDescriptors(descriptors);
  const nodes = new Map(pgraph.nodes.map((node) => [node.id, node]));
  const edges = new Map(pgraph.edges.map((edge) => [edge.id, edge]));
  const split = new Map<string, SplitNode>();
  const conflicts: Constraint[] = [];
  const out: { instances: UnplacedInstance[]; edges: InstanceEdge[] } = { instances: [], edges: [] };
  for (const { definition } of pipelines) {
    const graph = graphOf(definition);
    const bytes = definition.traffic_class.packet_bytes;
    for (const id of topologicalOrder(graph) ?? []) {
      const node = nodes.get(pgraphNodeId(definition.name, id));
      if (!node) continue;
      const inputs = graph.incoming
        .get(id)!
        .map((edge) => ({ from: split.get(pgraphNodeId(definition.name, edge.from)) ?? null }));
      const descriptor = catalogue.get(node.nf)!;
      const counted = splitNode(node, descriptor, inputs, id, graph, catalogue, conflicts);
      split.set(node.id, { ...counted, form: formOf(forms, node.id, descriptor) });
    }
    for (const { id } of definition.nodes) {
      const it = split.get(pgraphNodeId(definition.name, id));
      if (it) for (const instance of instancesOf(it, bytes)) out.instances.push(instance);
    }
    for (const edge of graph.edges) {
      const pgraphEdge = edges.get(`${definition.name}.${edge.id}`)!;
      const [from, to] = [pgraphEdge.from, pgraphEdge.to].map((end) => (end === null ? 1 : split.get(end)!.count));
      const edgesNeeded = out.edges.length + from! * to!;
      if (edgesNeeded > MAX_INSTANCE_EDGES)
        throw new BadProblem('/pipelines', `need more than ${MAX_INSTANCE_EDGES} edges between instances`);
      for (const wired of wire(pgraphEdge, split)) out.edges.push(wired);
    }
  }
  const partitions = new Map([...split].map(([id, { partition }]) => [id, partition]));
  return { ...out, partitions, conflicts };
}

/** A node with its instances counted and its traffic shared out. */
interface CountedNode {
  readonly node: PGraphNode;
  readonly descriptor: NfDescriptor;
  readonly count: number;
  readonly partition: Partition;
}

interface SplitNode extends CountedNode {
  readonly form: Form;
}

interface Input {
  /** `null`: the ingress. */
  readonly from: CountedNode | null;
}

function splitNode(
  node: PGraphNode,
  descriptor: NfDescriptor,
  inputs: readonly Input[],
  id: string,
  graph: PipelineGraph,
  catalogue: DescriptorIndex,
  conflicts: Constraint[],
): CountedNode {
  const { max_instances } = descriptor.scaling;
  let count = node.instances;
  const limit = (constraint: Constraint['constraint'], available: number) => {
    conflicts.push({ constraint, needed: node.instances, available, unit: 'instances', where: node.id });
    count = available;
  };
  if (count > max_instances) limit('max-instances', max_instances);
  const fromSwitch = inputs.some(({ from }) => from === null);
  const key = fullKey(descriptor);
  const steady = !fromSwitch || switchIsSteady(key, id, graph, catalogue);
  if (count > 1 && !steady && descriptor.affinity.length > 0) limit('affinity', 1);
  let partition: Partition = { kind: 'single' };
  if (count > 1)
    partition = fromSwitch ? { kind: 'switch', key, steady } : choosePartition(node, descriptor, count, inputs);
  return { node, descriptor, count, partition };
}

/** What flows are hashed over when nothing else is known: the affinity, or the 5-tuple so that flows stay in order. */
function fullKey(descriptor: NfDescriptor): DirectAttribute[] {
  return descriptor.affinity.length > 0 ? ordered(descriptor.affinity) : [...DIRECT_ATTRIBUTES];
}

/** Fields of the 5-tuple in their usual order, each once. */
function ordered(fields: readonly string[]): DirectAttribute[] {
  return DIRECT_ATTRIBUTES.filter((field) => fields.includes(field));
}

/**
 * Whether packets equal in `key` all meet either the switch's hash or the engines', never one of each: true with one way
 * in, or when those fields alone decide which edge leads out of the ingress and no NF before rewrites them.
 */
function switchIsSteady(key: FlowKey, id: string, graph: PipelineGraph, catalogue: DescriptorIndex): boolean {
  const fields: readonly string[] = key;
  if (graph.incoming.get(id)!.length === 1) return true;
  const upstream = [...reachableFrom(graph, id, 'against')].filter((other) => other !== id);
  for (const other of upstream) {
    const node = graph.nodes.get(other)!;
    if (node.kind === 'ingress') {
      const decisive = graph.outgoing.get(other)!.flatMap(({ filter }) => directFields(filter));
      if (decisive.some((field) => !fields.includes(field))) return false;
    }
    if (node.kind === 'nf' && written(catalogue.get(node.nf)!).some((field) => fields.includes(field))) return false;
  }
  return true;
}

function written({ actions }: NfDescriptor): string[] {
  return [...actions.writes, ...actions.adds, ...actions.removes];
}

/** What is known of the flows that leave instance i of a node: its own partition, unless it rewrites the key. */
function leavingPartition({ node, descriptor, partition }: CountedNode): Partition {
  if (partition.kind === 'single') return partition;
  const touched = written(descriptor);
  if (partition.key.some((field) => touched.includes(field))) return { kind: 'single' };
  if (partition.kind !== 'switch') return partition;
  return partition.steady ? { kind: 'follow', key: partition.key, origin: node.id } : { kind: 'single' };
}

function choosePartition(
  node: PGraphNode,
  descriptor: NfDescriptor,
  count: number,
  inputs: readonly Input[],
): Partition {
  const full = fullKey(descriptor);
  const keeps = (key: FlowKey) => descriptor.affinity.length === 0 || key.every((field) => full.includes(field));
  const upstream = inputs.map(({ from }) => from).filter((from) => from !== null);
  const leaving = upstream.map((from) => ({ from, partition: leavingPartition(from) }));
  const [first] = leaving;
  if (first?.partition.kind === 'follow' && keeps(first.partition.key)) {
    const { origin } = first.partition;
    const same = leaving.every(
      ({ from, partition }) => partition.kind === 'follow' && partition.origin === origin && from.count === count,
    );
    if (same) return first.partition;
  }
  let best: { key: FlowKey; edges: number } | null = null;
  const keys = [full, ...leaving.flatMap(({ partition }) => (partition.kind === 'hash' ? [partition.key] : []))];
  for (const key of keys.filter(keeps)) {
    const to: CountedNode = { node, descriptor, count, partition: { kind: 'hash', key } };
    const edges = upstream.reduce((sum, from) => sum + pairs(from, to).length, 0);
    if (!best || edges < best.edges) best = { key, edges };
  }
  return { kind: 'hash', key: best!.key };
}

interface Pair {
  readonly from: number;
  readonly to: number;
  readonly key: FlowKey;
  readonly range: FlowRange;
  /** Part of the PGraph edge's traffic. */
  readonly share: number;
}

/** The instance pairs between which flows pass, and which flows; no key where an instance has one successor only. */
function pairs(from: CountedNode, to: CountedNode): Pair[] {
  const leaving = leavingPartition(from);
  const { partition } = to;
  const known = leaving.kind === 'hash' && partition.kind === 'hash' && sameKey(leaving.key, partition.key);
  const whole = (i: number, j: number): Pair => ({
    from: i,
    to: j,
    key: [],
    range: WHOLE_RANGE,
    share: portion(i, from.count),
  });
  return Array.from({ length: from.count }, (_, i) => {
    if (partition.kind === 'single') return [whole(i, 0)];
    if (partition.kind === 'follow') return [whole(i, i)];
    const mine = known ? equalRange(i, from.count) : WHOLE_RANGE;
    const out: Pair[] = [];
    for (let j = 0; j < to.count; j++) {
      const range = equalRange(j, to.count);
      const lo = Math.max(range.lo, mine.lo);
      const hi = Math.min(range.hi, mine.hi);
      const share = ((hi - lo) / (mine.hi - mine.lo)) * portion(i, from.count);
      if (lo < hi) out.push({ from: i, to: j, key: partition.key, range: { lo, hi }, share });
    }
    return out.length === 1 ? [whole(i, out[0]!.to)] : out;
  }).flat();
}

function sameKey(a: FlowKey, b: FlowKey): boolean {
  return a.length === b.length && a.every((field, i) => field === b[i]);
}

/** An NF that changes its form, or its slot, is another instance each time: both run while traffic is led over. */
function instanceId({ node, form }: SplitNode, ordinal: number): string {
  if (form.driver === 'board') return `${node.id}.${form.board.board}-${form.board.slot}`;
  return form.driver === 'container' ? `${node.id}.container-${ordinal}` : `${node.id}.${ordinal}`;
}

function instancesOf(it: SplitNode, packetBytes: number): UnplacedInstance[] {
  const { node, descriptor, count, form } = it;
  const cost = costOnCore(descriptor, form.driver);
  return Array.from({ length: count }, (_, ordinal) => {
    const load_bps = node.load_bps * portion(ordinal, count);
    const load_pps = packetRate(load_bps, packetBytes);
    return {
      id: instanceId(it, ordinal),
      pgraph_node: node.id,
      pipeline_id: node.pipeline_id,
      node_id: node.node_id,
      nf: node.nf,
      ordinal,
      ...form,
      load_bps,
      load_pps,
      cycles_per_second: load_pps * cyclesPerPacket(cost, packetBytes),
      memory_bytes: cost.memory_bytes,
    };
  });
}

function wire(edge: PGraphEdge, split: ReadonlyMap<string, SplitNode>): InstanceEdge[] {
  const from = edge.from === null ? null : split.get(edge.from)!;
  const to = edge.to === null ? null : split.get(edge.to)!;
  const make = (i: number | null, j: number | null, key: FlowKey, range: FlowRange, share: number): InstanceEdge => ({
    id: `${edge.id}.${i ?? 'in'}-${j ?? 'out'}`,
    pgraph_edge: edge.id,
    from: i === null ? null : instanceId(from!, i),
    to: j === null ? null : instanceId(to!, j),
    key,
    range,
    rate_bps: edge.rate_bps * share,
  });
  if (from && to) return pairs(from, to).map(({ from: i, to: j, key, range, share }) => make(i, j, key, range, share));
  if (from) return Array.from({ length: from.count }, (_, i) => make(i, null, [], WHOLE_RANGE, portion(i, from.count)));
  if (to) {
    const key = to.partition.kind === 'single' ? [] : to.partition.key;
    return Array.from({ length: to.count }, (_, j) =>
      make(null, j, key, equalRange(j, to.count), portion(j, to.count)),
    );
  }
  return [make(null, null, [], WHOLE_RANGE, 1)];
}
