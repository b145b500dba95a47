import { numberToAddress } from './ipv4.js';
import { type Box, examplePacket, isDirect, NO_PORT } from './packet-space.js';
import type { ValuesOf } from './resolve-filter.js';

const PROTOCOL_NAMES: Readonly<Record<number, string>> = { 1: 'ICMP', 6: 'TCP', 17: 'UDP' };

/** One packet of the box in words, e.g. `TCP 10.0.0.1:40000 to 10.0.0.2:80 with ids.verdict safe`. */
export function describePacket(box: Box, valuesOf: ValuesOf): string {
  const packet = examplePacket(box);
  const proto = packet.get('ip.proto')!;
  const end = (side: 'src' | 'dst') => {
    const port = packet.get(`port.${side}`)!;
    return numberToAddress(packet.get(`ip.${side}`)!) + (port === NO_PORT ? '' : `:${port}`);
  };
  const derived = [...packet]
    .filter(([dimension]) => !isDirect(dimension))
    .map(([dimension, value]) => `${dimension} ${value === 0 ? 'not set' : valuesOf(dimension)?.[value - 1]}`);
  const tail = derived.length > 0 ? ` with ${derived.join(', ')}` : '';
  return `${PROTOCOL_NAMES[proto] ?? `protocol ${proto}`} ${end('src')} to ${end('dst')}${tail}`;
}
