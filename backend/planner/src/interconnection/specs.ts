import {
  FABRIC_GATEWAY_MAC,
  type FabricRule,
  type FabricSpec,
  FLOW_SPACE,
  type FlowRange,
  type Infrastructure,
  type InstanceSpec,
  type NfDescriptor,
  type NodeSpec,
  type OutputSpec,
  type Plan,
  type PlannedPipeline,
  type Target,
} from '@orrery/contract';
import { type InstanceEdge, WHOLE_RANGE } from '../igraph/split.js';
import { derivedValues, indexDescriptors } from '../pipeline/attributes.js';
import { graphOf } from '../pipeline/graph.js';
import { effectiveConfig } from '../pipeline/implementation.js';
import { matchTerms } from '../pipeline/resolve-filter.js';
import { sameContent } from '../transition/same-spec.js';
import { sortAddresses } from './addresses.js';
import { classifyPriority, PRIORITY } from './fabric.js';
import { type HopDirection, type HopTable, hopKey } from './hops.js';
import type { MetadataLayout } from './metadata.js';
import { serverMac } from './server-mac.js';

interface InterconnectionInput {
  readonly pipelines: readonly PlannedPipeline[];
  readonly descriptors: readonly NfDescriptor[];
  readonly infrastructure: Infrastructure;
  readonly instances: Plan['instances'];
  readonly edges: readonly InstanceEdge[];
  /** By pipeline name. */
  readonly layouts: ReadonlyMap<string, MetadataLayout>;
  readonly hops: HopTable;
  /** External addresses by instance. */
  readonly addresses: ReadonlyMap<string, readonly string[]>;
  readonly base: Plan | null;
}

function exitId(pipeline: string, direction: HopDirection): string {
  return `${pipeline}.${direction === 'forward' ? 'exit' : 'return'}`;
}

/** Instances that packets reach over the switch: from the hosts, from other servers, or as replies. */
export function hopDestinations(
  instances: Plan['instances'],
  edges: readonly InstanceEdge[],
  returning: ReadonlySet<string>,
): string[] {
  const server = new Map(instances.map((instance) => [instance.id, instance.server]));
  const reached = new Set<string>();
  for (const { from, to } of edges) {
    if (to !== null && (from === null || server.get(from) !== server.get(to))) reached.add(to);
  }
  return instances.flatMap(({ id }) => [
    ...(reached.has(id) ? [hopKey(id, 'forward')] : []),
    ...(returning.has(id) ? [hopKey(id, 'return')] : []),
  ]);
}

/** Desired state of every server and of the fabric (E2 3.4.2): the whole of it, whatever ran before. */
export function interconnect(input: InterconnectionInput): { nodes: Record<string, NodeSpec>; fabric: FabricSpec } {
  const nodes: Record<string, NodeSpec> = {};
  const specs = instanceSpecs(input);
  for (const { id, nics } of input.infrastructure.servers) {
    const here = input.instances.filter(({ server }) => server === id);
    const instances = here.map((instance) => specs.get(instance.id)!);
    nodes[id] = withGeneration(input.base?.nodes[id], {
      nic: { iface: nics[0]!.name, mac: serverMac(id) },
      gateway_mac: FABRIC_GATEWAY_MAC,
      instances,
      hops: here.flatMap((instance) =>
        (['forward', 'return'] as const).flatMap((direction) => {
          const hop = input.hops.get(hopKey(instance.id, direction));
          return hop === undefined ? [] : [{ hop, instance_id: instance.id, direction }];
        }),
      ),
      exits: exitsOf(instances, input.pipelines),
    });
  }
  for (const [id, spec] of Object.entries(input.base?.nodes ?? {})) {
    nodes[id] ??= withGeneration(spec, { ...spec, instances: [], hops: [], exits: [] });
  }
  return { nodes, fabric: withGeneration(input.base?.fabric, { rules: fabricRules(input) }) };
}

function withGeneration<T extends { generation: number }>(before: T | undefined, now: Omit<T, 'generation'>): T {
  const next = { ...now, generation: before?.generation ?? 1 } as T;
  if (before && !sameContent(before, next)) next.generation++;
  return next;
}

function exitsOf(instances: readonly InstanceSpec[], pipelines: readonly PlannedPipeline[]): NodeSpec['exits'] {
  const used = new Set<string>();
  for (const { outputs, return_to } of instances) {
    for (const { targets } of outputs) for (const { to } of targets) if (to.kind === 'exit') used.add(to.exit_id);
    if (return_to?.kind === 'exit') used.add(return_to.exit_id);
  }
  return pipelines.flatMap(({ pipeline_id, definition }) =>
    (['forward', 'return'] as const).flatMap((direction) => {
      const exit_id = exitId(definition.name, direction);
      return used.has(exit_id) ? [{ exit_id, pipeline_id, direction }] : [];
    }),
  );
}

function instanceSpecs(input: InterconnectionInput): Map<string, InstanceSpec> {
  const catalogue = indexDescriptors(input.descriptors);
  const edgesFrom = new Map<string, InstanceEdge[]>();
  for (const edge of input.edges) {
    const key = `${edge.from} ${edge.pgraph_edge}`;
    edgesFrom.set(key, [...(edgesFrom.get(key) ?? []), edge]);
  }
  const servers = new Map(input.instances.map(({ id, server }) => [id, server]));
  const specs = new Map<string, InstanceSpec>();
  for (const { pipeline_id, definition } of input.pipelines) {
    const graph = graphOf(definition);
    const layout = input.layouts.get(definition.name)!;
    const valuesOf = (attribute: string) => derivedValues(attribute, graph, catalogue);
    for (const instance of input.instances.filter((it) => it.pipeline_id === pipeline_id)) {
      const node = graph.nodes.get(instance.node_id)!;
      const descriptor = catalogue.get(instance.nf)!;
      const config = node.kind === 'nf' ? effectiveConfig(descriptor, node.config) : {};
      const owned = input.addresses.get(instance.id);
      const target = (edge: InstanceEdge): Target => {
        if (edge.to === null) return { kind: 'exit', exit_id: exitId(definition.name, 'forward') };
        if (servers.get(edge.to) === instance.server) return { kind: 'instance', instance_id: edge.to };
        return { kind: 'hop', hop: input.hops.get(hopKey(edge.to, 'forward'))! };
      };
      const outputs = graph.outgoing.get(instance.node_id)!.map((edge): OutputSpec => {
        const edge_id = `${definition.name}.${edge.id}`;
        const parts = edgesFrom.get(`${instance.id} ${edge_id}`)!;
        return {
          edge_id,
          match: matchTerms(edge.filter, valuesOf, layout),
          key: parts.length > 1 ? parts[0]!.key : [],
          targets: wholeSpace(parts.map((part) => ({ range: part.range, to: target(part) }))),
        };
      });
      specs.set(instance.id, {
        id: instance.id,
        pipeline_id,
        node_id: instance.node_id,
        nf: instance.nf,
        driver: instance.driver,
        ...(instance.board ? { board: instance.board } : {}),
        core: instance.core,
        config: owned ? { ...config, external_addresses: sortAddresses(owned) } : config,
        metadata: Object.fromEntries(
          descriptor.attributes.flatMap(({ name }) => {
            const field = layout.get(`${instance.node_id}.${name}`);
            return field ? [[name, field]] : [];
          }),
        ),
        outputs,
        return_to: descriptor.return_traffic ? { kind: 'exit', exit_id: exitId(definition.name, 'return') } : null,
      });
    }
  }
  return specs;
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

function fabricRules(input: InterconnectionInput): FabricRule[] {
  const catalogue = indexDescriptors(input.descriptors);
  const servers = new Map(input.instances.map(({ id, server }) => [id, server]));
  const towards = (id: string, direction: HopDirection, range: FlowRange) => ({
    range,
    hop: input.hops.get(hopKey(id, direction))!,
    server: servers.get(id)!,
  });
  const enteringBy = new Map<string, InstanceEdge[]>();
  for (const edge of input.edges) {
    if (edge.from !== null || edge.to === null) continue;
    enteringBy.set(edge.pgraph_edge, [...(enteringBy.get(edge.pgraph_edge) ?? []), edge]);
  }
  const rules: FabricRule[] = [];
  for (const { pipeline_id, definition } of input.pipelines) {
    const graph = graphOf(definition);
    const layout = input.layouts.get(definition.name)!;
    const valuesOf = (attribute: string) => derivedValues(attribute, graph, catalogue);
    for (const edge of graph.edges) {
      const id = `${definition.name}.${edge.id}`;
      const entering = enteringBy.get(id) ?? [];
      if (entering.length === 0) continue;
      rules.push({
        id: `classify/${id}`,
        pipeline_id,
        kind: 'classify',
        priority: classifyPriority(definition, edge.id),
        from_hosts: definition.traffic_class.from,
        match: matchTerms([...definition.traffic_class.match, ...edge.filter], valuesOf, layout),
        hop: null,
        key: entering[0]!.key,
        targets: entering.map(({ to, range }) => towards(to!, 'forward', range)),
      });
    }
  }
  const crossed = new Set<string>();
  for (const { from, to } of input.edges) {
    if (from !== null && to !== null && servers.get(from) !== servers.get(to)) crossed.add(to);
  }
  const blank = { from_hosts: [], match: [], hop: null, key: [] };
  for (const { id, pipeline_id } of input.instances) {
    if (!crossed.has(id)) continue;
    const target = towards(id, 'forward', WHOLE_RANGE);
    const { hop } = target;
    rules.push({
      ...blank,
      id: `hop/${hop}`,
      pipeline_id,
      kind: 'hop',
      priority: PRIORITY.hop,
      hop,
      targets: [target],
    });
  }
  for (const { id, pipeline_id } of input.instances) {
    for (const address of sortAddresses(input.addresses.get(id) ?? [])) {
      rules.push({
        ...blank,
        id: `return/${address}`,
        pipeline_id,
        kind: 'return',
        priority: PRIORITY.return,
        match: [{ field: 'ip.dst', prefix: `${address}/32`, not: false }],
        targets: [towards(id, 'return', WHOLE_RANGE)],
      });
    }
  }
  return rules;
}
