import {
  type ExitNode,
  FABRIC_GATEWAY_MAC,
  type Instance,
  type InstanceSpec,
  type NodeSpec,
  nfInstances,
} from '@orrery/contract';
import { indexDescriptors } from '../check/attributes.js';
import { effectiveConfig } from '../check/implementation.js';
import { placedNodes } from '../igraph/graph.js';
import { sortAddresses } from './addresses.js';
import { DIRECTIONS, hopKey } from './hops.js';
import type { LoweringInput } from './input.js';
import { moduleSpecs } from './modules.js';
import { Outputs } from './outputs.js';
import { coreSchedulers } from './schedulers.js';
import { serverMac } from './server-mac.js';

type Spec = Omit<NodeSpec, 'generation'>;

/** Desired state of every server, without generation (E2 3.4.2). */
export function nodeSpecs(input: LoweringInput): Record<string, Spec> {
  const { graph, infrastructure } = input;
  const specs = instanceSpecs(input);
  const modules = moduleSpecs(input);
  const schedulers = coreSchedulers(input);
  const hops = new Map(graph.edges.flatMap(({ to, direction, hop }) => (hop ? [[hopKey(to, direction), hop]] : [])));
  return Object.fromEntries(
    infrastructure.servers.map(({ id, nics }): [string, Spec] => {
      const here = placedNodes(graph).filter(({ server }) => server === id);
      return [
        id,
        {
          nic: { iface: nics[0]!.name, mac: serverMac(id) },
          gateway_mac: FABRIC_GATEWAY_MAC,
          instances: nfInstances({ nodes: here }).map((instance) => specs.get(instance.id)!),
          ...(modules.has(id) ? { modules: modules.get(id)! } : {}),
          ...(schedulers.has(id) ? { schedulers: schedulers.get(id)! } : {}),
          hops: here.flatMap((node) =>
            DIRECTIONS.flatMap((direction) => {
              const hop = hops.get(hopKey(node.id, direction));
              return hop === undefined ? [] : [{ hop, instance_id: node.id, direction }];
            }),
          ),
          exits: exitsOf(input, id),
        },
      ];
    }),
  );
}

function exitsOf({ graph }: LoweringInput, server: string): Spec['exits'] {
  const used = new Set(graph.edges.filter(({ to_server }) => to_server === server).map(({ to }) => to));
  return graph.nodes
    .filter((node): node is ExitNode => node.kind === 'exit' && used.has(node.id))
    .map(({ id: exit_id, chain_id, direction }) => ({ exit_id, chain_id, direction }));
}

/** By instance. */
function instanceSpecs(input: LoweringInput): Map<string, InstanceSpec> {
  const catalogue = indexDescriptors(input.descriptors);
  const specs = new Map<string, InstanceSpec>();
  for (const chain of input.chains) {
    const layout = input.layouts.get(chain.definition.name)!;
    const outputs = new Outputs(input, chain);
    for (const instance of nfInstances(input.graph).filter((it) => it.chain_id === chain.chain_id)) {
      const descriptor = catalogue.get(instance.nf)!;
      specs.set(instance.id, {
        id: instance.id,
        chain_id: chain.chain_id,
        node_id: instance.node_id,
        nf: instance.nf,
        driver: instance.driver,
        ...(instance.board ? { board: instance.board } : {}),
        core: instance.core,
        ...(chain.schedule === 'planned' ? { queued: false } : {}),
        config: configOf(instance, input, descriptor),
        metadata: Object.fromEntries(
          descriptor.attributes.flatMap(({ name }) => {
            const field = layout.get(`${instance.node_id}.${name}`);
            return field ? [[name, field]] : [];
          }),
        ),
        outputs: outputs.of(instance.id, ({ pgraph_edge }) => pgraph_edge!),
        return_to: outputs.reply(instance.id),
      });
    }
  }
  return specs;
}

function configOf(
  { id, chain_id, node_id }: Instance,
  { chains, addresses }: LoweringInput,
  descriptor: LoweringInput['descriptors'][number],
): InstanceSpec['config'] {
  const { definition } = chains.find((it) => it.chain_id === chain_id)!;
  const node = definition.nodes.find((it) => it.id === node_id)!;
  const config = node.kind === 'nf' ? effectiveConfig(descriptor, node.config) : {};
  const owned = addresses.get(id);
  return owned ? { ...config, external_addresses: sortAddresses(owned) } : config;
}
