import {
  type ExitNode,
  type FlowKey,
  type FlowRange,
  isAtSwitch,
  isPlanned,
  type NfDescriptor,
  type Plan,
  type PlannedChain,
} from '@orrery/contract';
import { BadProblem } from '../bad-problem.js';
import {
  type AssignedImplementation,
  type AssignedImplementations,
  implementationOf,
} from '../check/assigned-implementation.js';
import { type DescriptorIndex, indexDescriptors } from '../check/attributes.js';
import { configuredNf } from '../check/configured-nf.js';
import { cpuLimitOf } from '../check/cpu-limit.js';
import { readsStreams } from '../check/implementation.js';
import { directFields } from '../check/resolve-filter.js';
import { COPY, MERGE } from '../engine-costs.js';
import { grouped } from '../grouped.js';
import { costOfSplit } from '../split-costs.js';
import { REASSEMBLY } from '../stream-costs.js';
import { askedSplit, keptBySwitches, rangesOf } from './asked-split.js';
import type { ChainForm, FormEdge, FormNode } from './chain-form.js';
import { countedCost } from './counted-cost.js';
import { portion, WHOLE_RANGE } from './flow-range.js';
import { inOrder, type UnplacedEdge, type UnplacedGraph, type WorkNode } from './graph.js';
import { type CountedNode, choosePartition, fullKey, type Partition, pairs } from './partition.js';
import { joined } from './parts.js';
import { cyclesPerPacket, instancesForCycles, packetRate } from './sizing.js';

type Constraint = Plan['conflicts'][number];

/** The instance graph with the reasons for it. */
export interface BuiltGraph extends UnplacedGraph {
  /** By node of the policy graph. */
  readonly partitions: ReadonlyMap<string, Partition>;
  readonly conflicts: readonly Constraint[];
}

/** Maximum number of edges between instances: two heavily split NFs have the product of their instance counts. */
const MAX_INSTANCE_EDGES = 100_000;

export function exitId(chain: string, direction: ExitNode['direction']): string {
  return `${chain}.${direction === 'forward' ? 'exit' : 'return'}`;
}

/**
 * Splits every node of the chains' forms into its instances and wires them so that packets equal in an NF's affinity
 * fields meet the same instance (E2 3.4.1 step 3, figure 3.3). Where that cannot be had, the conflict says why.
 * `referenceGhz`: of the cores for which mirrors and merges are sized, as NFs are.
 * Errors: `BadProblem` for too many edges.
 */
export function buildInstanceGraph(
  chainForms: readonly ChainForm[],
  descriptors: readonly NfDescriptor[],
  implementations: AssignedImplementations = new Map(),
  referenceGhz = Number.POSITIVE_INFINITY,
): BuiltGraph {
  return joinedGraph(chainForms, (form) => chainGraph(form, descriptors, implementations, referenceGhz));
}

/** The instance graph of all forms, given that of each. Errors: `BadProblem` for too many edges. */
export function joinedGraph(chainForms: readonly ChainForm[], graphOf: (form: ChainForm) => BuiltGraph): BuiltGraph {
  const parts: [chain_id: string, part: BuiltGraph][] = [];
  let edges = 0;
  for (const form of chainForms) {
    const part = graphOf(form);
    edges += part.edges.length;
    requireFewEdges(edges);
    parts.push([form.chain.chain_id, part]);
  }
  return Object.assign(joined<BuiltGraph['nodes'][number], UnplacedEdge>(parts), {
    partitions: new Map(parts.flatMap(([, { partitions }]) => [...partitions])),
    conflicts: parts.flatMap(([, { conflicts }]) => conflicts),
  });
}

function requireFewEdges(count: number): void {
  if (count > MAX_INSTANCE_EDGES)
    throw new BadProblem('/chains', `need more than ${MAX_INSTANCE_EDGES} edges between instances`);
}

/** The instance graph of one chain; otherwise as `buildInstanceGraph`. */
export function chainGraph(
  form: ChainForm,
  descriptors: readonly NfDescriptor[],
  implementations: AssignedImplementations,
  referenceGhz: number,
): BuiltGraph {
  const catalogue = indexDescriptors(descriptors);
  const partitions = new Map<string, Partition>();
  const conflicts: Constraint[] = [];
  const { definition, chain_id } = form.chain;
  const split = splitNodes(form, catalogue, implementations, referenceGhz, conflicts);
  for (const it of split.values()) if (it.node.kind === 'nf') partitions.set(it.id, it.partition);
  const nodes: BuiltGraph['nodes'][number][] = form.nodes.flatMap(({ id }) => workOf(split.get(id)!, form));
  const edges: UnplacedEdge[] = [];
  for (const edge of form.edges) {
    const [from, to] = [edge.from, edge.to].map((end) => (end === null ? 1 : split.get(end)!.count));
    requireFewEdges(edges.length + from! * to!);
    edges.push(...wire(edge, form, split));
  }
  edges.push(...noOps(form, nodes, catalogue));
  if (form.edges.some(({ to }) => to === null))
    nodes.push({ kind: 'exit', id: exitId(definition.name, 'forward'), chain_id, direction: 'forward' });
  const returning = form.nodes.filter((node) => node.kind === 'nf' && catalogue.get(node.node.nf)!.return_traffic);
  if (returning.length === 0) return { nodes, edges, partitions, conflicts };
  const exit: ExitNode = { kind: 'exit', id: exitId(definition.name, 'return'), chain_id, direction: 'return' };
  nodes.push(exit);
  for (const { id } of returning) edges.push(...replies(split.get(id)!, form, exit));
  return { nodes, edges, partitions, conflicts };
}

interface SplitNode extends CountedNode {
  readonly node: FormNode;
  /** Of each instance. */
  readonly implementation: AssignedImplementation | null;
  /** Its chain has a planned schedule. */
  readonly scheduled: boolean;
  /** It reads TCP streams that the engine reassembles. */
  readonly readsStreams: boolean;
  readonly cyclesPerPacket: number;
  readonly memory_bytes: number;
}

function splitNodes(
  chainForm: ChainForm,
  catalogue: DescriptorIndex,
  implementations: AssignedImplementations,
  referenceGhz: number,
  conflicts: Constraint[],
): Map<string, SplitNode> {
  const { nodes, edges, chain } = chainForm;
  const bytes = chain.definition.traffic_class.packet_bytes;
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const entering = grouped(edges, ({ to }) => to ?? '');
  const split = new Map<string, SplitNode>();
  const configured = ({ node: { nf, node_id } }: NfNode) => configuredNf(catalogue.get(nf)!, chain.definition, node_id);
  const readsIn = (node: NfNode) => {
    const descriptor = configured(node);
    const { driver } = implementationOf(implementations, node.id, descriptor);
    return driver === 'engine' && readsStreams(descriptor, configOf(chainForm, node.node.node_id));
  };
  const mirrors = mirrorsOfReaders(chainForm, readsIn);
  for (const id of inOrder([...byId.keys()], edges)) {
    const node = byId.get(id)!;
    const upstream = (entering.get(id) ?? []).map(({ from }) => (from === null ? null : split.get(from)!));
    if (node.kind !== 'nf') {
      const cycles = cyclesOfJoint(node, bytes) + (mirrors.has(id) ? cyclesPerPacket(REASSEMBLY, bytes) : 0);
      const staged = stagedParts(node, chain, catalogue);
      const most = Math.max(...(staged ?? SINGLE).ranges.map(portion));
      const needed = instancesForCycles(packetRate(node.load_bps * most, bytes) * cycles, referenceGhz);
      if (needed > 1)
        conflicts.push({ constraint: 'max-instances', needed, available: 1, unit: 'instances', where: id });
      const one = { ...(staged ?? SINGLE), affinity: [], written: [] } as const;
      split.set(id, {
        id,
        node,
        implementation: null,
        scheduled: false,
        readsStreams: false,
        ...one,
        cyclesPerPacket: cycles,
        memory_bytes: 0,
      });
      continue;
    }
    const descriptor = configured(node);
    const implementation = implementationOf(implementations, id, descriptor);
    // Whether another reader of streams stands before it on its engine is not known yet.
    const cost = countedCost(catalogue.get(node.node.nf)!, chain.definition, node.node.node_id, implementation);
    const counted = countNf(node, descriptor, upstream, chainForm, catalogue, conflicts);
    const { partition } = counted;
    split.set(id, {
      ...counted,
      ...(partition.kind === 'follow' ? { ranges: split.get(partition.origin)!.ranges } : {}),
      node,
      implementation,
      scheduled: isPlanned(chain.schedule),
      readsStreams: readsIn(node),
      cyclesPerPacket: cyclesPerPacket(cost, bytes),
      memory_bytes: cost.memory_bytes,
    });
  }
  return split;
}

type NfNode = Extract<FormNode, { kind: 'nf' }>;

function cyclesOfJoint(node: Exclude<FormNode, { kind: 'nf' }>, bytes: number): number {
  if (node.kind === 'split') return cyclesPerPacket(costOfSplit(node), bytes);
  return cyclesPerPacket(node.kind === 'mirror' ? COPY : MERGE, bytes) * (node.branches.length - 1);
}

/** The mirrors of the steps in which readers of TCP streams lie: reassembly stands there where their engine has it. */
function mirrorsOfReaders({ nodes }: ChainForm, reads: (node: NfNode) => boolean): ReadonlySet<string> {
  const merges = new Map(nodes.flatMap((node) => (node.kind === 'merge' ? [[node.id, node]] : [])));
  const found = new Set<string>();
  for (const node of nodes) {
    if (node.kind !== 'nf' || !reads(node)) continue;
    for (let merge = merges.get(node.merge ?? ''); merge; merge = merges.get(merge.within ?? ''))
      found.add(merge.mirror);
  }
  return found;
}

function configOf({ chain: { definition } }: ChainForm, nodeId: string): Readonly<Record<string, unknown>> {
  const node = definition.nodes.find(({ id }) => id === nodeId);
  return node?.kind === 'nf' ? node.config : {};
}

/** The splits in front of several instances, each of which has the flows that the switches send to the instance; null: one has all. */
function stagedParts(node: FormNode, chain: PlannedChain, catalogue: DescriptorIndex) {
  if (node.kind !== 'split' || !node.held || node.held.length < 2) return null;
  const drawn = chain.definition.nodes.find(({ id }) => id === node.node_id);
  const { affinity } = catalogue.get(drawn?.kind === 'nf' ? drawn.nf : '')!;
  const partition = { kind: 'hash', key: fullKey(affinity) } as const;
  return { count: node.held.length, ranges: node.held, hasStrays: false, scales: false, partition };
}

const SINGLE = {
  count: 1,
  ranges: [WHOLE_RANGE],
  hasStrays: false,
  scales: false,
  partition: { kind: 'single' },
} as const;

function countNf(
  { id, node }: Extract<FormNode, { kind: 'nf' }>,
  descriptor: NfDescriptor,
  upstream: readonly (SplitNode | null)[],
  chainForm: ChainForm,
  catalogue: DescriptorIndex,
  conflicts: Constraint[],
): CountedNode {
  const { max_instances } = descriptor.scaling;
  let count = node.instances;
  const limit = (constraint: Constraint['constraint'], available: number) => {
    conflicts.push({ constraint, needed: node.instances, available, unit: 'instances', where: id });
    count = available;
  };
  if (count > max_instances) limit('max-instances', max_instances);
  const fromSwitch = upstream.includes(null);
  const key = fullKey(descriptor.affinity);
  const steady = !fromSwitch || switchIsSteady(key, id, chainForm, catalogue);
  if (count > 1 && !steady && descriptor.affinity.length > 0) limit('affinity', 1);
  const own = { id, affinity: descriptor.affinity, written: written(descriptor) };
  const asked = askedSplit(chainForm.chain, node.node_id);
  const scales = asked?.instances !== undefined && descriptor.affinity.length > 0;
  // Slots at switches have no engine behind them that could track flows to a single instance; switches do where it was asked.
  const isTracked = (it: SplitNode | null) => (it === null ? keptBySwitches(asked) !== null : hasEngine(it));
  if (count === 1 && (!scales || !upstream.every(isTracked))) return { ...own, ...SINGLE };
  const ranges = count === 1 ? [WHOLE_RANGE] : rangesOf(asked, count);
  const counted = { ...own, count, ranges, hasStrays: asked !== undefined, scales };
  if (fromSwitch) return { ...counted, partition: { kind: 'switch', key, steady } };
  const from = upstream.filter((it) => it !== null);
  return { ...counted, partition: choosePartition(counted, from, asked === undefined) };
}

function hasEngine({ implementation }: SplitNode): boolean {
  return !(implementation?.driver === 'board' && isAtSwitch(implementation));
}

/**
 * Whether packets equal in `key` all meet either the switch's hash or the engines', never one of each: true with one way
 * in, or when those fields alone decide which edge leads out of the ingress and no NF before rewrites them.
 */
function switchIsSteady(
  key: FlowKey,
  id: string,
  { chain, nodes, edges }: ChainForm,
  catalogue: DescriptorIndex,
): boolean {
  const fields: readonly string[] = key;
  if (edges.filter(({ to }) => to === id).length === 1) return true;
  const ingress = chain.definition.nodes.find(({ kind }) => kind === 'ingress')!.id;
  const decisive = chain.definition.edges
    .filter(({ from }) => from === ingress)
    .flatMap(({ filter }) => directFields(filter));
  if (decisive.some((field) => !fields.includes(field))) return false;
  const before = new Set([id]);
  for (const at of before) for (const { from, to } of edges) if (to === at && from !== null) before.add(from);
  return nodes.every(
    (node) =>
      node.kind !== 'nf' ||
      node.id === id ||
      !before.has(node.id) ||
      !written(catalogue.get(node.node.nf)!).some((field) => fields.includes(field)),
  );
}

function written({ actions }: NfDescriptor): string[] {
  return [...actions.writes, ...actions.adds, ...actions.removes];
}

/**
 * An NF that changes its implementation, slot, parallel step or schedule becomes a new instance: both run while traffic is
 * moved over.
 */
function instanceId({ id, node, implementation, scheduled }: SplitNode, ordinal: number): string {
  if (node.kind === 'split' && (node.held?.length ?? 1) > 1) return `${id}.${ordinal}`;
  if (node.kind !== 'nf') return id;
  if (implementation?.driver === 'board') return `${id}.${implementation.board.board}-${implementation.board.slot}`;
  const kind = `${implementation?.driver === 'container' ? 'container-' : ''}${node.merge === null ? '' : 'parallel-'}${scheduled ? 'scheduled-' : ''}`;
  return `${id}.${kind}${ordinal}`;
}

function workOf(it: SplitNode, { chain }: ChainForm): WorkNode[] {
  const { node, count, ranges, implementation, memory_bytes } = it;
  const { chain_id, definition } = chain;
  return Array.from({ length: count }, (_, ordinal): WorkNode => {
    const total = node.kind === 'nf' ? node.node.load_bps : node.load_bps;
    const load_bps = total * portion(ranges[ordinal]!);
    const load_pps = packetRate(load_bps, definition.traffic_class.packet_bytes);
    const id = instanceId(it, ordinal);
    const work = { load_bps, load_pps, cycles_per_second: load_pps * it.cyclesPerPacket, memory_bytes };
    if (node.kind === 'mirror') return { kind: 'mirror', id, chain_id, within: node.within, hop: null, ...work };
    if (node.kind === 'merge') {
      const { mirror, within, branches } = node;
      return { kind: 'merge', id, chain_id, mirror, within, branches: [...branches], ...work };
    }
    if (node.kind === 'split') {
      const { node_id, tracks } = node;
      const staged = node.held ? { in_front_of: ordinal } : {};
      return { kind: 'split', id, chain_id, node_id, tracks, ...staged, ...work };
    }
    const { node_id, nf } = node.node;
    const merge = node.merge === null ? {} : { merge: node.merge };
    const cpu_limit = cpuLimitOf(definition, node_id);
    const streams = it.readsStreams ? { reads_streams: true } : {};
    return {
      kind: 'nf',
      id,
      pgraph_node: node.id,
      chain_id,
      node_id,
      nf,
      ordinal,
      ...streams,
      ...merge,
      ...(cpu_limit === null ? {} : { cpu_limit }),
      ...implementation!,
      ...work,
    };
  });
}

function wire(edge: FormEdge, { chain }: ChainForm, split: ReadonlyMap<string, SplitNode>): UnplacedEdge[] {
  const from = edge.from === null ? null : split.get(edge.from)!;
  const to = edge.to === null ? null : split.get(edge.to)!;
  const make = (i: number | null, j: number | null, key: FlowKey, range: FlowRange, share: number): UnplacedEdge => ({
    id: `${edge.id}.${i ?? 'in'}-${j ?? 'out'}`,
    chain_id: chain.chain_id,
    pgraph_edge: edge.pgraph_edge,
    direction: 'forward',
    from: i === null ? null : instanceId(from!, i),
    to: j === null ? exitId(chain.definition.name, 'forward') : instanceId(to!, j),
    ...(edge.copy === undefined ? {} : { copy: edge.copy }),
    ...(edge.input === undefined ? {} : { input: edge.input }),
    filter: edge.filter,
    key,
    range,
    rate_bps: edge.rate_bps * share,
  });
  if (from && to) return pairs(from, to).map(({ from: i, to: j, key, range, share }) => make(i, j, key, range, share));
  if (from) return from.ranges.map((range, i) => make(i, null, [], WHOLE_RANGE, portion(range)));
  const key = to!.partition.kind === 'single' ? [] : to!.partition.key;
  return to!.ranges.map((range, j) => make(null, j, key, range, portion(range)));
}

/** Replies return to the instance that rewrote their address and leave from there, at the rate of the forward direction. */
function replies(it: SplitNode, form: ChainForm, exit: ExitNode): UnplacedEdge[] {
  return workOf(it, form).flatMap(({ id, chain_id, load_bps }) => {
    const edge = { chain_id, pgraph_edge: null, direction: 'return', filter: [], key: [], range: WHOLE_RANGE } as const;
    return [
      { ...edge, filter: [], key: [], id: `${id}.return-in`, from: null, to: id, rate_bps: load_bps },
      { ...edge, filter: [], key: [], id: `${id}.return-out`, from: id, to: exit.id, rate_bps: load_bps },
    ];
  });
}

/**
 * The ways on which a merge hears of packets that a branch has dropped (HydraNF 6.5.1): from NFs of the engine, since
 * others drop unheard, and from merges in its branches.
 */
function noOps({ chain }: ChainForm, nodes: BuiltGraph['nodes'], catalogue: DescriptorIndex): UnplacedEdge[] {
  const told = (node: BuiltGraph['nodes'][number]): string | null => {
    if (node.kind === 'merge') return node.within;
    if (node.kind !== 'nf' || node.driver !== 'engine') return null;
    return (catalogue.get(node.nf)!.actions.may_drop && node.merge) || null;
  };
  return nodes.flatMap((node): UnplacedEdge[] => {
    const to = told(node);
    if (to === null) return [];
    const edge = {
      chain_id: chain.chain_id,
      pgraph_edge: null,
      direction: 'no-op',
      key: [],
      range: WHOLE_RANGE,
    } as const;
    return [{ ...edge, id: `${node.id}.no-op`, from: node.id, to, filter: [], key: [], rate_bps: 0 }];
  });
}
