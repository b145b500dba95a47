import type { HostNode, Infrastructure, Link, LinkEnd, ServerNode } from '@orrery/contract';
import { furtherMac, serverMac } from './server-mac.js';

/** An interface of a host or server that has a link. `peer` is the other end of the link. */
export interface NodeInterface {
  readonly port: string;
  readonly link: Link;
  readonly peer: LinkEnd;
  readonly mac: string;
  readonly addresses: readonly string[];
}

/**
 * In the order of the links. A host's first one, and the one of a server's first network card, have the node's own MAC
 * address and the addresses that name no port.
 */
export function interfacesOf(node: HostNode | ServerNode, { links }: Pick<Infrastructure, 'links'>): NodeInterface[] {
  const own = links.flatMap((link) => {
    if (link.a.node === node.id) return [{ link, end: link.a, peer: link.b }];
    return link.b.node === node.id ? [{ link, end: link.b, peer: link.a }] : [];
  });
  const first = 'nics' in node ? node.nics[0]!.name : own[0]?.end.port;
  const ownMac = 'mac' in node ? node.mac : serverMac(node.id);
  return own.map(({ link, end: { port }, peer }) => ({
    port,
    link,
    peer,
    mac: port === first ? ownMac : furtherMac(node.id, port),
    addresses: node.addresses.filter((each) => (each.port ?? first) === port).map(({ address }) => address),
  }));
}
