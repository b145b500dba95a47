import type { FieldMatch, MatchTerm, SwitchAbilities, SwitchField } from '@orrery/contract';
import { contains, type IntervalSet, intersect, interval, subtract } from '../../check/interval-set.js';
import { parsePrefix } from '../../check/ipv4.js';
import { cover, wholeField } from './cover.js';

export const ETHERTYPE = { ipv4: 0x0800, ipv6: 0x86dd } as const;
const TCP = 6;
const UDP = 17;
const PORT_PROTOCOLS = [TCP, UDP];

export type Fields = Partial<Record<SwitchField, FieldMatch>>;

/** The switch lacks an ability that a rule needs, however many entries it has. */
export class Inability extends Error {
  override name = 'Inability';
}

/** More entries than there is room for. */
export class Shortage extends Error {
  override name = 'Shortage';
  constructor(readonly needed: number) {
    super(`needs ${needed} entries`);
  }
}

/** Values that the terms together leave of each field. */
interface Sets {
  readonly addresses: Record<'ip.src' | 'ip.dst', IntervalSet>;
  readonly ports: Record<'port.src' | 'port.dst', IntervalSet>;
  readonly protocol: IntervalSet;
  readonly namesPorts: boolean;
  /** A term on a port that is not negated: only packets with ports match. */
  readonly needsPorts: boolean;
}

/** Disjoint matches on the packets that terms hold for. */
type Packets = 'decided' | 'fragments';

interface Known {
  readonly abilities: SwitchAbilities;
  readonly most: number;
  readonly matches: readonly Fields[];
}

/** A rule is lowered for every switch and every phase of a change. */
const KNOWN: Readonly<Record<Packets, WeakMap<readonly MatchTerm[], Known>>> = {
  decided: new WeakMap(),
  fragments: new WeakMap(),
};

/**
 * Disjoint matches on IPv4 packets that together hold where all terms hold. A term on a port holds only for an unfragmented
 * TCP or UDP packet; a negated term holds wherever the term does not, so "not port 80" holds for ICMP, but for no fragment of
 * TCP or UDP: its ports are unknown (`fragmentsOf`). Throws an Inability, or a Shortage when there are more than `most`.
 */
export function matchesOf(terms: readonly MatchTerm[], abilities: SwitchAbilities, most: number): readonly Fields[] {
  return known('decided', terms, abilities, most);
}

/**
 * Disjoint matches on the fragments of TCP and UDP datagrams for which all terms may hold, first and later ones alike: without
 * terms on ports none, because the terms are decided then. Throws as `matchesOf` does.
 */
export function fragmentsOf(terms: readonly MatchTerm[], abilities: SwitchAbilities, most: number): readonly Fields[] {
  return known('fragments', terms, abilities, most);
}

function known(
  packets: Packets,
  terms: readonly MatchTerm[],
  abilities: SwitchAbilities,
  most: number,
): readonly Fields[] {
  const before = KNOWN[packets].get(terms);
  if (before?.abilities === abilities && before.most === most) return before.matches;
  const matches = disjointMatches(packets, terms, abilities, most);
  KNOWN[packets].set(terms, { abilities, most, matches });
  return matches;
}

function disjointMatches(
  packets: Packets,
  terms: readonly MatchTerm[],
  abilities: SwitchAbilities,
  most: number,
): readonly Fields[] {
  const sets = setsOf(terms);
  const heads = packets === 'decided' ? protocolHeads(sets, abilities) : fragmentHeads(sets, abilities);
  const sources = fieldMatches('ip.src', sets.addresses['ip.src'], abilities);
  const destinations = fieldMatches('ip.dst', sets.addresses['ip.dst'], abilities);
  const needed = heads.length * sources.length * destinations.length;
  if (needed > most) throw new Shortage(needed);
  const ipv4 = exactly('eth.type', ETHERTYPE.ipv4);
  return heads.flatMap((head) =>
    sources.flatMap((source) => destinations.map((destination) => ({ ...ipv4, ...head, ...source, ...destination }))),
  );
}

/** Matches that are many: `count` of them, made when they are asked for. */
export interface FilterMatches {
  readonly count: number;
  matches(): Fields[];
}

/**
 * Disjoint matches on the IPv4 packets for which a rule of a filter holds. A term on a port holds for TCP and UDP packets that
 * carry their ports: whole ones and first fragments. Throws an Inability.
 */
export function filterMatches(terms: readonly MatchTerm[], abilities: SwitchAbilities): FilterMatches {
  const { addresses, ports, protocol, namesPorts } = setsOf(terms);
  const factors = [
    fieldMatches('ip.src', addresses['ip.src'], abilities),
    fieldMatches('ip.dst', addresses['ip.dst'], abilities),
  ];
  if (namesPorts) {
    factors.unshift(
      withPorts(protocol).map((number) => exactly('ip.proto', number)),
      fieldMatches('ip.later', interval(0, 0), abilities),
      fieldMatches('port.src', ports['port.src'], abilities),
      fieldMatches('port.dst', ports['port.dst'], abilities),
    );
  } else factors.unshift(fieldMatches('ip.proto', protocol, abilities));
  return {
    count: factors.reduce((count, { length }) => count * length, 1),
    matches: () => product(...factors),
  };
}

/** A field with a single value. */
export function exactly(field: SwitchField, value: number): Fields {
  return { [field]: { value, mask: wholeField(field)[0]![1] } };
}

function setsOf(terms: readonly MatchTerm[]): Sets {
  const addresses = { 'ip.src': wholeField('ip.src'), 'ip.dst': wholeField('ip.dst') };
  const ports = { 'port.src': wholeField('port.src'), 'port.dst': wholeField('port.dst') };
  let protocol = wholeField('ip.proto');
  let namesPorts = false;
  let needsPorts = false;
  for (const term of terms) {
    const signed = (field: SwitchField, set: IntervalSet) => (term.not ? subtract(wholeField(field), set) : set);
    switch (term.field) {
      case 'metadata':
        throw new Inability('match metadata, which only engines know');
      case 'ip.src':
      case 'ip.dst': {
        const { first, last } = parsePrefix(term.prefix)!;
        addresses[term.field] = intersect(addresses[term.field], signed(term.field, interval(first, last)));
        break;
      }
      case 'ip.proto':
        protocol = intersect(protocol, signed('ip.proto', interval(term.value, term.value)));
        break;
      default:
        ports[term.field] = intersect(ports[term.field], signed(term.field, interval(term.lo, term.hi)));
        namesPorts = true;
        needsPorts ||= !term.not;
    }
  }
  return { addresses, ports, protocol, namesPorts, needsPorts };
}

/** Matches on protocol, fragmentation and ports. */
function protocolHeads({ protocol, ports, namesPorts, needsPorts }: Sets, abilities: SwitchAbilities): Fields[] {
  if (!namesPorts) return fieldMatches('ip.proto', protocol, abilities);
  const unfragmented = fieldMatches('ip.fragment', interval(0, 0), abilities);
  const heads = withPorts(protocol).flatMap((number) =>
    product(
      [exactly('ip.proto', number)],
      unfragmented,
      fieldMatches('port.src', ports['port.src'], abilities),
      fieldMatches('port.dst', ports['port.dst'], abilities),
    ),
  );
  if (needsPorts) return heads;
  const others = subtract(
    protocol,
    PORT_PROTOCOLS.map((number) => [number, number] as const),
  );
  return [...heads, ...fieldMatches('ip.proto', others, abilities)];
}

/** Matches on protocol and fragmentation where the ports would decide. */
function fragmentHeads({ protocol, ports, namesPorts }: Sets, abilities: SwitchAbilities): Fields[] {
  const isEmpty = Object.values(ports).some((set) => set.length === 0);
  if (!namesPorts || isEmpty) return [];
  const fragments = fieldMatches('ip.fragment', interval(1, 1), abilities);
  return withPorts(protocol).flatMap((number) => product([exactly('ip.proto', number)], fragments));
}

const withPorts = (protocol: IntervalSet) => PORT_PROTOCOLS.filter((number) => contains(protocol, number));

function product(...factors: Fields[][]): Fields[] {
  return factors.reduce((all, factor) => all.flatMap((one) => factor.map((other) => ({ ...one, ...other }))), [{}]);
}

/** One match without the field when every value will do. */
function fieldMatches(field: SwitchField, set: IntervalSet, { match }: SwitchAbilities): Fields[] {
  if (subtract(wholeField(field), set).length === 0) return [{}];
  const ability = match[field];
  if (!ability) throw new Inability(`match ${field}`);
  const matches = cover(set, field, ability);
  if (!matches) throw new Inability(`match ${field} other than by single values`);
  return matches.map((one) => ({ [field]: one }));
}
