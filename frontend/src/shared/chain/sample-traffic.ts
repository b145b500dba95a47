import { type ChainDefinition, type Infrastructure, primaryAddress } from '@orrery/contract';

/** An application that sends packets of a chain's class: the kind, where it runs, where it sends and the port. */
export interface SampleTraffic {
  readonly kind: 'http-client' | 'probe';
  readonly node: string;
  readonly to: string;
  readonly port?: number;
}

/**
 * Traffic that the class of a chain matches, from its first source host to the host that the class names, else to the first
 * server host: probes where the class wants UDP, else HTTP. Null without a host at either end.
 */
export function sampleTraffic(
  { traffic_class: { from, match } }: Pick<ChainDefinition, 'traffic_class'>,
  { hosts }: Pick<Infrastructure, 'hosts'>,
): SampleTraffic | null {
  const wanted = (attribute: string) => {
    const term = match.find((each) => each.attribute === attribute && each.op === 'is');
    return term === undefined ? null : String(term.value);
  };
  const node = from.find((id) => hosts.some((host) => host.id === id));
  const prefix = wanted('ip.dst');
  const to = hosts.find((host) =>
    prefix === null ? host.role === 'server' && host.id !== node : isWithin(primaryAddress(host), prefix),
  );
  if (!node || !to) return null;
  const [port] = wanted('port.dst')?.split('-') ?? [];
  const kind = wanted('ip.proto') === 'udp' || wanted('ip.proto') === '17' ? 'probe' : 'http-client';
  return { kind, node, to: to.id, ...(port === undefined ? {} : { port: Number(port) }) };
}

/** Whether an IPv4 address is in a prefix such as `10.1.0.0/16`; another kind of address only if it is the same. */
function isWithin(address: string, prefix: string): boolean {
  const [base = '', length = '32'] = prefix.split('/');
  const number = (text: string) => text.split('.').reduce((sum, byte) => sum * 256 + Number(byte), 0);
  const size = 2 ** (32 - Number(length));
  if (address === base) return true;
  return !address.includes(':') && Math.floor(number(address) / size) === Math.floor(number(base) / size);
}

/** The twin lab with the form of this application filled in. */
export function trafficPath({ kind, node, to, port }: SampleTraffic): string {
  const search = new URLSearchParams({ add: kind, node, to, ...(port === undefined ? {} : { port: String(port) }) });
  return `/twin?${search}`;
}
