import { seededRandom } from '@orrery/planner';

const ETHERNET_BYTES = 14;
const IP_BYTES = 20;
const TCP = 6;
const UDP = 17;
const L4_BYTES = { [TCP]: 20, [UDP]: 8 } as const;
/** Of an Ethernet frame without its checksum. */
const LEAST_BYTES = 60;
const MOST_BYTES = 1400;
/** Above those that hosts of the twin serve, so that nobody answers differently from run to run. */
const FIRST_PORT = 20_000;
const PORTS = 4000;

/** Two addresses of IPv4. */
export interface Ends {
  readonly from: string;
  readonly to: string;
}

/** Frames of TCP and UDP from one host to another, of many flows and lengths; the same seed makes the same ones. */
export function generate(seed: number, count: number, ends: Ends): Buffer[] {
  const random = seededRandom(seed);
  const below = (most: number) => Math.floor(random() * most);
  return Array.from({ length: count }, (_, number) => {
    const protocol = below(2) === 0 ? TCP : UDP;
    const bytes = LEAST_BYTES + below(MOST_BYTES - LEAST_BYTES);
    return frame(ends, protocol, [FIRST_PORT + below(PORTS), FIRST_PORT + PORTS + below(PORTS)], bytes, number);
  });
}

function frame({ from, to }: Ends, protocol: typeof TCP | typeof UDP, ports: number[], bytes: number, number: number) {
  const all = Buffer.alloc(bytes, number & 0xff);
  // Its Ethernet addresses are those of who sends it.
  all.fill(0, 0, 12).writeUInt16BE(0x0800, 12);
  const ip = all.subarray(ETHERNET_BYTES, ETHERNET_BYTES + IP_BYTES).fill(0);
  const l4 = all.subarray(ETHERNET_BYTES + IP_BYTES);
  ip.writeUInt8(0x45, 0);
  ip.writeUInt16BE(IP_BYTES + l4.length, 2);
  ip.writeUInt16BE(number & 0xffff, 4);
  ip.writeUInt8(64, 8);
  ip.writeUInt8(protocol, 9);
  addressBytes(from).copy(ip, 12);
  addressBytes(to).copy(ip, 16);
  ip.writeUInt16BE(checksum(ip), 10);
  l4.fill(0, 0, L4_BYTES[protocol]);
  for (const [i, port] of ports.entries()) l4.writeUInt16BE(port, 2 * i);
  if (protocol === UDP) l4.writeUInt16BE(l4.length, 4);
  else l4.writeUInt16BE(0x5010, 12);
  const pseudo = Buffer.alloc(12);
  ip.copy(pseudo, 0, 12, 20);
  pseudo.writeUInt8(protocol, 9);
  pseudo.writeUInt16BE(l4.length, 10);
  l4.writeUInt16BE(checksum(Buffer.concat([pseudo, l4])), protocol === UDP ? 6 : 16);
  return all;
}

const addressBytes = (address: string) => Buffer.from(address.split('.').map(Number));

/** RFC 1071. */
function checksum(bytes: Buffer): number {
  let sum = 0;
  for (let at = 0; at < bytes.length; at += 2) sum += (bytes[at]! << 8) | (bytes[at + 1] ?? 0);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  return ~sum & 0xffff;
}

/** A capture file (pcap, Ethernet) of the frames. */
export function captureOf(frames: readonly Buffer[]): Buffer {
  const header = Buffer.alloc(24);
  header.writeUInt32LE(0xa1b2c3d4, 0);
  header.writeUInt16LE(2, 4);
  header.writeUInt16LE(4, 6);
  header.writeUInt32LE(65_535, 16);
  header.writeUInt32LE(1, 20);
  const records = frames.flatMap((each, i) => {
    const record = Buffer.alloc(16);
    record.writeUInt32LE(i, 4);
    record.writeUInt32LE(each.length, 8);
    record.writeUInt32LE(each.length, 12);
    return [record, each];
  });
  return Buffer.concat([header, ...records]);
}
