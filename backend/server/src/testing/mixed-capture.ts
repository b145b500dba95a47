const GATEWAY = '020efffffffe';
const PORTS = [0, 22, 23, 53, 100, 700, 701, 1000, 1500, 2000, 2001, 65_535];
const PROTOCOLS = [6, 6, 17, 17, 17, 1, 47];

interface Ends {
  /** Source. */
  readonly mac: string;
  readonly from: string;
  readonly to: string;
}

/** Flags and offset of whole packets, first fragments and later ones. */
const FRAGMENTS = [0, 0, 0, 0, 0x2000, 0x2001, 0x00b9];

/** A capture (pcap) of frames of several protocols and ports, some of them fragments; always the same one. */
export function mixedCapture(count: number, { mac, from, to }: Ends): Buffer {
  const header = Buffer.from('d4c3b2a1020004000000000000000000ffff000001000000', 'hex');
  const ethernet = Buffer.from(`${GATEWAY}${mac.replaceAll(':', '')}0800`, 'hex');
  const draw = generator(7);
  const pick = <T>(of: readonly T[]) => of[draw() % of.length]!;
  const records = Array.from({ length: count }, (_, i) => {
    const protocol = pick(PROTOCOLS);
    const l4 = Buffer.alloc(40 + 8 * (draw() % 20));
    if (protocol === 6 || protocol === 17) {
      l4.writeUInt16BE(pick(PORTS), 0);
      l4.writeUInt16BE(pick(PORTS), 2);
    }
    if (protocol === 6) l4.writeUInt16BE(0x5010, 12);
    if (protocol === 17) l4.writeUInt16BE(l4.length, 4);
    const ip = ipv4(protocol, { id: i, fragment: pick(FRAGMENTS), payload: l4.length }, from, to);
    const frame = Buffer.concat([ethernet, ip, l4]);
    const record = Buffer.alloc(16);
    record.writeUInt32LE(i, 4);
    record.writeUInt32LE(frame.length, 8);
    record.writeUInt32LE(frame.length, 12);
    return Buffer.concat([record, frame]);
  });
  return Buffer.concat([header, ...records]);
}

interface Part {
  readonly id: number;
  readonly fragment: number;
  readonly payload: number;
}

function ipv4(protocol: number, { id, fragment, payload }: Part, from: string, to: string): Buffer {
  const header = Buffer.alloc(20);
  header[0] = 0x45;
  header.writeUInt16BE(20 + payload, 2);
  header.writeUInt16BE(id, 4);
  header.writeUInt16BE(fragment, 6);
  header[8] = 64;
  header[9] = protocol;
  Buffer.from(from.split('.').map(Number)).copy(header, 12);
  Buffer.from(to.split('.').map(Number)).copy(header, 16);
  let sum = 0;
  for (let at = 0; at < 20; at += 2) sum += header.readUInt16BE(at);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  header.writeUInt16BE(~sum & 0xffff, 10);
  return header;
}

/** Numbers that are always the same (Park and Miller 1988). */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 48_271) % 0x7fff_ffff;
    return state;
  };
}
