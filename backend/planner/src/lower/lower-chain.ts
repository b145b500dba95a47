import type { ExitNode, InstanceGraph } from '@orrery/contract';
import { grouped } from '../grouped.js';
import { bytestreams } from './bytestreams.js';
import { hopsTo } from './hops.js';
import type { ChainOnServer, ChainToLower, LoweredChain } from './input.js';
import { instanceSpec } from './instance-spec.js';
import { moduleSpec } from './modules.js';
import { Outputs } from './outputs.js';
import { chainRules } from './steering.js';

export function lowerChain(input: ChainToLower): LoweredChain {
  return { servers: onServers(input), rules: chainRules(input) };
}

function onServers(input: ChainToLower): Map<string, ChainOnServer> {
  const { nodes, edges } = input.graph;
  const reassembled = bytestreams(input.graph, input.descriptors);
  const outputs = new Outputs(input);
  const entering = grouped(edges, ({ to }) => to);
  const servers = new Map<string, ChainOnServer>();
  const at = (server: string): ChainOnServer => {
    const there = servers.get(server) ?? { instances: [], modules: [], hops: [], queueHops: [], exits: [] };
    servers.set(server, there);
    return there;
  };
  for (const node of nodes) {
    if (node.kind === 'exit') {
      for (const server of serversWith(node, edges))
        at(server).exits.push({ exit_id: node.id, chain_id: node.chain_id, direction: node.direction });
      continue;
    }
    const there = at(node.server);
    const bytestream = reassembled.has(node.id) ? { bytestream: true } : {};
    if (node.kind === 'nf') there.instances.push({ ...instanceSpec(input, node, outputs), ...bytestream });
    else there.modules.push({ ...moduleSpec(input.graph, node, outputs), ...bytestream });
    (node.kind === 'queue' ? there.queueHops : there.hops).push(...hopsTo(node, entering.get(node.id) ?? []));
  }
  return servers;
}

/** Servers from which packets leave by the exit. */
function serversWith({ id }: ExitNode, edges: InstanceGraph['edges']): Set<string> {
  return new Set(edges.flatMap(({ to, to_server }) => (to === id ? [to_server] : [])));
}
