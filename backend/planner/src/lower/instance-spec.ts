import type { Instance, InstanceSpec } from '@orrery/contract';
import { indexDescriptors } from '../check/attributes.js';
import { effectiveConfig } from '../check/implementation.js';
import { sortAddresses } from './addresses.js';
import type { ChainToLower } from './input.js';
import type { Outputs } from './outputs.js';

/** What a server is told of an instance. */
export function instanceSpec(input: ChainToLower, instance: Instance, outputs: Outputs): InstanceSpec {
  const { chain, layout } = input;
  const descriptor = indexDescriptors(input.descriptors).get(instance.nf)!;
  return {
    id: instance.id,
    chain_id: chain.chain_id,
    node_id: instance.node_id,
    nf: instance.nf,
    driver: instance.driver,
    ...(instance.board ? { board: instance.board } : {}),
    core: instance.core,
    ...(chain.schedule === 'planned' ? { queued: false } : {}),
    config: configOf(input, instance, descriptor),
    metadata: Object.fromEntries(
      descriptor.attributes.flatMap(({ name }) => {
        const field = layout.get(`${instance.node_id}.${name}`);
        return field ? [[name, field]] : [];
      }),
    ),
    outputs: outputs.of(instance.id, ({ pgraph_edge }) => pgraph_edge!),
    return_to: outputs.reply(instance.id),
  };
}

function configOf(
  { chain: { definition }, addresses }: ChainToLower,
  { id, node_id }: Instance,
  descriptor: ChainToLower['descriptors'][number],
): InstanceSpec['config'] {
  const node = definition.nodes.find((it) => it.id === node_id)!;
  const config = node.kind === 'nf' ? effectiveConfig(descriptor, node.config) : {};
  const owned = addresses.get(id);
  return owned ? { ...config, external_addresses: sortAddresses(owned) } : config;
}
