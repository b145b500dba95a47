import type { ChainDefinition } from '@orrery/contract';
import fc from 'fast-check';
import { chainOf } from './chains.js';
import { type Packet, packet } from './packets.js';

type Term = [attribute: string, op: 'is' | 'is-not', value: string | number];

const DIRECT_TERMS: readonly (readonly [string, string | number])[] = [
  ['ip.src', '10.0.0.0/8'],
  ['ip.src', '10.1.0.0/16'],
  ['ip.src', '192.168.0.0/16'],
  ['ip.dst', '10.2.0.0/24'],
  ['ip.proto', 'tcp'],
  ['ip.proto', 'udp'],
  ['ip.proto', 1],
  ['port.dst', 80],
  ['port.dst', '70-90'],
  ['port.dst', '0-1023'],
];

/** Values on both sides of every bound that the terms above have. */
const REPRESENTATIVES = {
  'ip.src': [0, 0x09ffffff, 0x0a000000, 0x0a00ffff, 0x0a010000, 0x0a01ffff, 0x0a020000, 0x0b000000, 0xc0a80001],
  'ip.dst': [0x0a01ffff, 0x0a020001],
  'ip.proto': [1, 2, 6, 17],
  'port.dst': [0, 69, 70, 79, 80, 81, 90, 91, 1023, 1024, 65535],
} as const;

export const arbitraryPacket: fc.Arbitrary<Packet> = fc
  .record({
    'ip.src': fc.constantFrom(...REPRESENTATIVES['ip.src']),
    'ip.dst': fc.constantFrom(...REPRESENTATIVES['ip.dst']),
    'ip.proto': fc.constantFrom(...REPRESENTATIVES['ip.proto']),
    'port.src': fc.constantFrom(1000, 2000, 3000),
    'port.dst': fc.constantFrom(...REPRESENTATIVES['port.dst']),
  })
  .map((fields) => packet(fields));

/** One packet of every kind that filters made of the terms above can tell apart, but for the NFs' verdicts. */
export function everyPacket(): Packet[] {
  const out = new Map<string, Packet>();
  for (const src of REPRESENTATIVES['ip.src'])
    for (const dst of REPRESENTATIVES['ip.dst'])
      for (const proto of REPRESENTATIVES['ip.proto'])
        for (const port of REPRESENTATIVES['port.dst']) {
          const it = packet({ 'ip.src': src, 'ip.dst': dst, 'ip.proto': proto, 'port.dst': port });
          out.set(JSON.stringify(it), it);
        }
  return [...out.values()];
}

/** Every value of a field that some filter can tell from its neighbours. */
export function representatives(field: string): readonly number[] {
  return REPRESENTATIVES[field as keyof typeof REPRESENTATIVES] ?? [1];
}

function term(upstream: readonly string[]): fc.Arbitrary<Term> {
  const direct = fc.constantFrom(...DIRECT_TERMS).map(([attribute, value]): Term => [attribute, 'is', value]);
  if (upstream.length === 0) return direct;
  const derived = fc
    .tuple(fc.constantFrom(...upstream), fc.constantFrom('safe', 'unsafe'))
    .map(([node, value]): Term => [`${node}.verdict`, 'is', value]);
  return fc.oneof(direct, derived);
}

const negated = ([attribute, op, value]: Term): Term => [attribute, op === 'is' ? 'is-not' : 'is', value];

export interface Shape {
  readonly nfs: readonly string[];
  readonly maxNodes: number;
  /** Filters of a node's edges divide its traffic; otherwise they are drawn without regard to one another. */
  readonly exact: boolean;
}

/** A chain whose nodes are all on a way from ingress to egress and whose filters name upstream attributes only. */
export function arbitraryChain({ nfs, maxNodes, exact }: Shape, name = 'p'): fc.Arbitrary<ChainDefinition> {
  return fc.array(fc.constantFrom(...nfs), { minLength: 1, maxLength: maxNodes }).chain((kinds) => {
    const ids = kinds.map((_, i) => `n${i}`);
    const outputs = ['in', ...ids].map((from, i) => {
      const later = [...ids.slice(i), 'out'];
      const upstream = kinds.slice(0, i).flatMap((nf, k) => (nf === 'ids' ? [`n${k}`] : []));
      const filters = exact
        ? division(upstream)
        : fc.array(fc.array(term(upstream).chain(either), { maxLength: 2 }), { minLength: 1, maxLength: 4 });
      return filters.chain((all) =>
        fc
          .tuple(...all.map(() => fc.constantFrom(...later)))
          .map((targets) => all.map((filter, k) => [from, k === 0 ? later[0]! : targets[k]!, filter] as const)),
      );
    });
    return fc.tuple(...outputs).map((all) => {
      const nfOf = Object.fromEntries(ids.map((id, i) => [id, kinds[i]!]));
      return chainOf(
        nfOf,
        all.flat().map(([from, to, filter]) => [from, to, [...filter]]),
        { name },
      );
    });
  });
}

const either = (it: Term) => fc.constantFrom(it, negated(it));

/** Filters that split all packets between them: no term, one term and its opposite, or one of the two split again. */
function division(upstream: readonly string[]): fc.Arbitrary<Term[][]> {
  return fc.tuple(fc.nat(2), term(upstream), term(upstream)).map(([depth, a, b]): Term[][] => {
    if (depth === 0) return [[]];
    if (depth === 1 || a[0] === b[0]) return [[a], [negated(a)]];
    return [[a, b], [a, negated(b)], [negated(a)]];
  });
}
