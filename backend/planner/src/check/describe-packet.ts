import type { DirectAttribute } from '@orrery/contract';
import { numberToAddress } from './ipv4.js';
import { type Box, domainOf, examplePacket, isDirect, NO_PORT } from './packet-space.js';
import type { ValuesOf } from './resolve-filter.js';

const PROTOCOL_NAMES: Readonly<Record<number, string>> = { 1: 'ICMP', 6: 'TCP', 17: 'UDP' };

/** One packet of the box in words, without what the box leaves open, e.g. `TCP from 10.0.0.1 to port 80 with ids.verdict safe`. */
export function describePacket(box: Box, valuesOf: ValuesOf): string {
  const packet = examplePacket(box);
  const proto = packet.get('ip.proto')!;
  const end = (side: 'src' | 'dst') => {
    const address = isOpen(box, `ip.${side}`) ? '' : numberToAddress(packet.get(`ip.${side}`)!);
    const port = isOpen(box, `port.${side}`) ? '' : String(packet.get(`port.${side}`)!);
    if (address && port) return `${address}:${port}`;
    return address || (port && `port ${port}`);
  };
  const [from, to] = [end('src'), end('dst')];
  const ends = `${from && ` from ${from}`}${to && ` to ${to}`}`;
  const derived = [...packet]
    .filter(([dimension]) => !isDirect(dimension))
    .map(([dimension, value]) => `${dimension} ${value === 0 ? 'not set' : valuesOf(dimension)?.[value - 1]}`);
  const tail = derived.length > 0 ? ` with ${derived.join(', ')}` : '';
  return `${PROTOCOL_NAMES[proto] ?? `protocol ${proto}`}${ends}${tail}`;
}

/** Whether the box has every value of the dimension; protocols without ports have none to name. */
function isOpen(box: Box, dimension: DirectAttribute): boolean {
  const set = box.get(dimension);
  if (!set) return true;
  const first = set[0]?.[0];
  if (first === NO_PORT) return true;
  const last = dimension.startsWith('port.') ? NO_PORT - 1 : domainOf(dimension, new Map()).at(-1)![1];
  return set.length === 1 && first === 0 && set[0]![1] >= last;
}
