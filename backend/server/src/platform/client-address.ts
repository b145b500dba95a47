import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import proxyAddr from '@fastify/proxy-addr';

/** Address as which everything that comes over a unix socket counts. */
export const UNIX_ADDRESS = 'unix';

/** Throws TypeError if an entry is neither an IP address nor a prefix. */
export function trustOf(proxies: readonly string[]): (address: string, hop: number) => boolean {
  return proxyAddr.compile([...proxies]);
}

/**
 * The client's address: that of its connection or, if this is a trusted proxy, what the proxy says in `X-Forwarded-For`.
 * Without trusted proxies the header is ignored.
 */
export function clientAddress(
  request: Pick<IncomingMessage, 'headers' | 'socket'>,
  trust: (address: string, hop: number) => boolean,
): string {
  if (request.socket.remoteAddress === undefined) return UNIX_ADDRESS;
  return proxyAddr(request as IncomingMessage, trust);
}

/** What limits by address count as one: an IPv4 address, or the /64 network of an IPv6 address. */
export function limitKey(address: string): string {
  const [, mapped] = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address) ?? [];
  if (mapped !== undefined || isIP(address) !== 6) return mapped ?? address;
  return `${networkOf(address)}/64`;
}

function networkOf(address: string): string {
  const [before = '', after] = address.replace(/%.*$/, '').split('::');
  const head = before === '' ? [] : before.split(':');
  const tail = after === undefined || after === '' ? [] : after.split(':');
  const groups =
    after === undefined ? head : [...head, ...Array(Math.max(8 - head.length - tail.length, 0)).fill('0'), ...tail];
  return groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':');
}
