import type { DirectAttribute, FilterTerm, MatchTerm } from '@orrery/contract';

/**
 * Packets and filters by the contract's words alone: an oracle that shares no code with the planner. Ports are `null`
 * unless the protocol is TCP or UDP; `derived` holds values by `<node>.<attribute>`.
 */
export interface Packet {
  readonly 'ip.src': number;
  readonly 'ip.dst': number;
  readonly 'ip.proto': number;
  readonly 'port.src': number | null;
  readonly 'port.dst': number | null;
  readonly derived: Readonly<Record<string, string>>;
}

export function packet(fields: Partial<Packet>): Packet {
  const base = { 'ip.src': 0, 'ip.dst': 0, 'ip.proto': 6, 'port.src': 1, 'port.dst': 2, derived: {}, ...fields };
  const ports = base['ip.proto'] === 6 || base['ip.proto'] === 17;
  return ports ? base : { ...base, 'port.src': null, 'port.dst': null };
}

const toNumber = (address: string) => address.split('.').reduce((n, part) => n * 256 + Number(part), 0);

function inPrefix(value: number, text: string): boolean {
  const [address = '', length = '32'] = text.split('/');
  const size = 2 ** (32 - Number(length));
  return Math.floor(value / size) === Math.floor(toNumber(address) / size);
}

export function matchesTerm(packet: Packet, { attribute, op, value }: FilterTerm): boolean {
  const positive = () => {
    switch (attribute) {
      case 'ip.src':
      case 'ip.dst':
        return inPrefix(packet[attribute], String(value));
      case 'ip.proto':
        return packet['ip.proto'] === ({ tcp: 6, udp: 17, icmp: 1 }[String(value)] ?? Number(value));
      case 'port.src':
      case 'port.dst': {
        const [lo, hi = lo] = String(value).split('-').map(Number);
        const port = packet[attribute];
        return port !== null && lo! <= port && port <= hi!;
      }
      default:
        return packet.derived[attribute] === value;
    }
  };
  return positive() === (op === 'is');
}

/** The same for resolved terms, with the metadata word that the packet carries. */
export function matchesResolved(packet: Packet, word: number, term: MatchTerm): boolean {
  const positive = () => {
    switch (term.field) {
      case 'ip.src':
      case 'ip.dst':
        return inPrefix(packet[term.field], term.prefix);
      case 'ip.proto':
        return packet['ip.proto'] === term.value;
      case 'port.src':
      case 'port.dst': {
        const port = packet[term.field];
        return port !== null && term.lo <= port && port <= term.hi;
      }
      case 'metadata':
        return Math.floor(word / 2 ** term.offset) % 2 ** term.width === term.value;
    }
  };
  return positive() !== term.not;
}

/** Whether all terms hold for the packet with some ports in place of its own, which a fragment does not tell. */
export function matchesWithSomePorts(packet: Packet, terms: readonly MatchTerm[]): boolean {
  const boundaries = (field: 'port.src' | 'port.dst') =>
    [
      ...new Set(
        terms
          .flatMap((term) => (term.field === field ? [term.lo - 1, term.lo, term.hi, term.hi + 1] : []))
          .concat(0, 65535),
      ),
    ].filter((port) => port >= 0 && port <= 65535);
  return boundaries('port.src').some((source) =>
    boundaries('port.dst').some((destination) =>
      terms.every((term) => matchesResolved({ ...packet, 'port.src': source, 'port.dst': destination }, 0, term)),
    ),
  );
}

/** A stand-in for a flow hash over the key fields; engines and the switch use different salts. */
export function flowHash(packet: Packet, key: readonly DirectAttribute[], salt: number): number {
  let hash = 2166136261 ^ salt;
  for (const field of key) {
    const value = packet[field] ?? 0;
    for (let shift = 0; shift < 32; shift += 8) hash = Math.imul(hash ^ ((value >>> shift) & 255), 16777619) >>> 0;
  }
  hash = Math.imul(hash ^ (hash >>> 15), 2246822519) >>> 0;
  return (hash ^ (hash >>> 16)) & 0xffff;
}
