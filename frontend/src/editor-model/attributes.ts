import type { ChainDefinition, DirectAttribute, Filter, FilterTerm, NfDescriptor } from '@orrery/contract';
import { Ipv4Prefix } from '@orrery/contract';
import { nodeLabel, upstreamOf } from './graph.js';

/** An attribute that a filter can test, with what a form needs to offer values. */
export interface Attribute {
  name: string;
  title: string;
  origin: 'packet' | 'derived';
  kind: 'prefix' | 'protocol' | 'port' | 'choice';
  values: { value: string; title: string }[];
  placeholder: string;
}

const PROTOCOLS = [
  { value: 'tcp', title: 'TCP' },
  { value: 'udp', title: 'UDP' },
  { value: 'icmp', title: 'ICMP' },
];

const DIRECT: Record<DirectAttribute, Omit<Attribute, 'name' | 'origin'>> = {
  'ip.src': { title: 'Source address', kind: 'prefix', values: [], placeholder: '10.0.1.0/24' },
  'ip.dst': { title: 'Destination address', kind: 'prefix', values: [], placeholder: '10.0.2.0/24' },
  'ip.proto': { title: 'Protocol', kind: 'protocol', values: PROTOCOLS, placeholder: 'tcp, udp, icmp or 0-255' },
  'port.src': { title: 'Source port', kind: 'port', values: [], placeholder: '80 or 8000-8999' },
  'port.dst': { title: 'Destination port', kind: 'port', values: [], placeholder: '80 or 8000-8999' },
};

/** Attributes of the packet itself; the only ones that a traffic class may use (E2 3.2.1). */
export const DIRECT_FILTER_ATTRIBUTES: readonly Attribute[] = Object.entries(DIRECT).map(([name, attribute]) => ({
  name,
  origin: 'packet',
  ...attribute,
}));

/** What an edge that leaves `from` can filter on: packet fields, and what `from` and every NF before it derive. */
export function attributesAt(
  definition: ChainDefinition,
  from: string,
  descriptors: readonly NfDescriptor[],
): Attribute[] {
  const before = upstreamOf(definition, [from]);
  before.add(from);
  const derived = definition.nodes.flatMap((node): Attribute[] => {
    if (node.kind !== 'nf' || !before.has(node.id)) return [];
    const descriptor = descriptors.find((each) => each.id === node.nf);
    return (descriptor?.attributes ?? []).map((attribute) => ({
      name: `${node.id}.${attribute.name}`,
      title: `${nodeLabel(node)}: ${attribute.title}`,
      origin: 'derived',
      kind: 'choice',
      values: attribute.values,
      placeholder: '',
    }));
  });
  return [...derived, ...DIRECT_FILTER_ATTRIBUTES];
}

/** A term to start from when a row is added: the first attribute, with its first value where values are known. */
export function firstTerm(attributes: readonly Attribute[]): FilterTerm {
  const attribute = attributes[0] ?? { name: 'ip.proto', kind: 'protocol', values: PROTOCOLS };
  return { attribute: attribute.name, op: 'is', value: startValue(attribute) };
}

/** A legal value of the attribute, for a row whose attribute has just been changed. */
export function startValue(attribute: Pick<Attribute, 'kind' | 'values'>): string | number {
  if (attribute.values[0]) return attribute.values[0].value;
  return attribute.kind === 'port' ? 80 : '0.0.0.0/0';
}

/** The error of a value being typed, or null. */
export function valueProblem(attribute: Attribute, value: string | number): string | null {
  const text = String(value);
  switch (attribute.kind) {
    case 'choice':
      return attribute.values.some((each) => each.value === text)
        ? null
        : `must be one of ${attribute.values.map((each) => each.value).join(', ')}`;
    case 'prefix':
      return Ipv4Prefix.safeParse(text).success ? null : 'must be an address or prefix such as 10.0.0.0/8';
    case 'protocol':
      return PROTOCOLS.some((each) => each.value === text) || (/^\d{1,3}$/.test(text) && Number(text) <= 255)
        ? null
        : 'must be tcp, udp, icmp or a number up to 255';
    case 'port': {
      const range = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(text);
      if (!range) return 'must be a port or a range such as 8000-8999';
      const low = Number(range[1]);
      const high = Number(range[2] ?? range[1]);
      return low <= high && high <= 65535 ? null : 'must lie within 0-65535, lower port first';
    }
  }
}

/** Converts form text to the stored value: integers become numbers. */
export function parseValue(text: string): string | number {
  const trimmed = text.trim();
  return /^\d{1,5}$/.test(trimmed) ? Number(trimmed) : trimmed;
}

const SHORT: Record<string, string> = {
  'ip.src': 'from',
  'ip.dst': 'to',
  'port.src': 'source port',
  'port.dst': 'port',
};

/** A short text of a filter for an edge label: `safe · TCP · port 80`. Empty if everything matches. */
export function filterLabel(filter: Filter): string {
  return filter.map(termLabel).join(' · ');
}

function termLabel(term: FilterTerm): string {
  const not = term.op === 'is-not' ? 'not ' : '';
  const value = String(term.value);
  if (term.attribute === 'ip.proto') return not + (/^\d+$/.test(value) ? `protocol ${value}` : value.toUpperCase());
  const short = SHORT[term.attribute];
  return short ? `${not}${short} ${value}` : not + value;
}
