import { type Instance, type InstanceSpec, isPlanned, type Target } from '@orrery/contract';
import { indexDescriptors } from '../check/attributes.js';
import { effectiveConfig, imageOf, programOf } from '../check/implementation.js';
import { sortAddresses } from './addresses.js';
import type { ChainToLower } from './input.js';
import type { Outputs } from './outputs.js';

/** Drivers that change a setting of an NF while its sessions stay up. */
const SWITCHABLE: ReadonlySet<Instance['driver']> = new Set(['engine', 'container']);

/** What a server is told of an instance. */
export function instanceSpec(input: ChainToLower, instance: Instance, outputs: Outputs): InstanceSpec {
  const { chain, layout } = input;
  const descriptor = indexDescriptors(input.descriptors).get(instance.nf)!;
  const program = ['process', 'container'].includes(instance.driver) ? programOf(descriptor) : null;
  const { acceleration } = descriptor;
  const image = instance.driver === 'container' ? imageOf(descriptor) : null;
  return {
    id: instance.id,
    chain_id: chain.chain_id,
    node_id: instance.node_id,
    nf: instance.nf,
    driver: instance.driver,
    ...(instance.board ? { board: instance.board } : {}),
    core: instance.core,
    ...(isPlanned(chain.schedule) ? { queued: false } : {}),
    config: configOf(input, instance, descriptor),
    ...(program ? { program } : {}),
    ...(image ? { image } : {}),
    ...(instance.cpu_limit === undefined ? {} : { cpu_limit: instance.cpu_limit }),
    ...(acceleration && SWITCHABLE.has(instance.driver) ? { acceleration } : {}),
    metadata: Object.fromEntries(
      descriptor.attributes.flatMap(({ name }) => {
        const field = layout.get(`${instance.node_id}.${name}`);
        return field ? [[name, field]] : [];
      }),
    ),
    outputs: outputs.of(instance.id, ({ pgraph_edge }) => pgraph_edge!),
    return_to: outputs.reply(instance.id),
    ...noOpTo(outputs.noOp(instance.id)),
  };
}

function noOpTo(merge: Target | null): Pick<InstanceSpec, 'no_op_to'> {
  return merge ? { no_op_to: merge } : {};
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
