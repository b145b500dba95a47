import { HostNode, type Infrastructure, Link, SwitchNode } from '@orrery/contract';
import { z } from 'zod';
import type { Api } from './api-caller.js';

/** A switch with hosts of its own. */
export const LabSwitch = z.strictObject({
  node: SwitchNode,
  hosts: z.array(HostNode).max(16),
  links: z.array(Link).max(16),
});
export type LabSwitch = z.infer<typeof LabSwitch>;

/**
 * Adds it to the infrastructure as it is. A twin is one network, so it hangs on a switch with a free port, by a link that nothing
 * is sent over.
 */
export async function addLabSwitch(api: Api, lab: LabSwitch): Promise<string> {
  await api.changeInfrastructure((now) => withLabSwitch(now, lab));
  return lab.node.id;
}

function withLabSwitch(now: Infrastructure, { node, hosts, links: own }: LabSwitch): Infrastructure {
  const used = (id: string) => now.links.filter(({ a, b }) => a.node === id || b.node === id).length;
  const free = now.switches.filter(({ id, origin, ports }) => origin === 'twin' && used(id) < ports);
  // A link more restarts BMv2.
  const next = free.find(({ driver }) => driver !== 'bmv2') ?? free[0];
  const ends = next && { a: { node: node.id, port: 'up' }, b: { node: next.id, port: node.id } };
  const uplink = ends && { id: `${node.id}-up`, ...ends, bandwidth_bps: 1e8, delay_us: 0, jitter_us: 0, loss: 0 };
  const links = uplink ? [...own, uplink] : own;
  return {
    ...now,
    switches: [...now.switches, node],
    hosts: [...now.hosts, ...hosts],
    links: [...now.links, ...links],
  };
}

/** Takes it away with its links, and with the hosts that hang on nothing else. */
export const removeLabSwitch = (api: Api, id: string): Promise<void> =>
  api.changeInfrastructure((now) => {
    const links = now.links.filter(({ a, b }) => a.node !== id && b.node !== id);
    const atIt = now.links.filter((link) => !links.includes(link)).flatMap(({ a, b }) => [a.node, b.node]);
    const linked = new Set(links.flatMap(({ a, b }) => [a.node, b.node]));
    const hosts = now.hosts.filter((host) => !atIt.includes(host.id) || linked.has(host.id));
    return { ...now, switches: now.switches.filter((node) => node.id !== id), hosts, links };
  });
