import type { Filter, FilterTerm, MatchTerm, MetadataField } from '@orrery/contract';
import { type IntervalSet, interval, subtract } from './interval-set.js';
import { formatPrefix, parsePrefix } from './ipv4.js';
import { type Box, type DerivedDomains, domainOf, intersectBoxes, isDirect, NO_PORT } from './packet-space.js';

/** Declared values of a derived attribute, or `null` when there is none of that name. */
export type ValuesOf = (attribute: string) => readonly string[] | null;

interface TermFault {
  readonly field: 'attribute' | 'value';
  readonly code: 'unknown-attribute' | 'bad-filter';
  readonly message: string;
}

const PROTOCOLS: Readonly<Record<string, number>> = { tcp: 6, udp: 17, icmp: 1 };

type Positive =
  | { readonly kind: 'prefix'; readonly prefix: string; readonly set: IntervalSet }
  | { readonly kind: 'protocol'; readonly value: number; readonly set: IntervalSet }
  | { readonly kind: 'ports'; readonly lo: number; readonly hi: number; readonly set: IntervalSet }
  | { readonly kind: 'derived'; readonly value: string; readonly set: IntervalSet };

const fault = (field: TermFault['field'], code: TermFault['code'], message: string): TermFault => ({
  field,
  code,
  message,
});

/** What the term's value selects, without regard to `op`; or why it selects nothing sensible. */
function readTerm({ attribute, value }: FilterTerm, valuesOf: ValuesOf): Positive | TermFault {
  const text = String(value);
  switch (attribute) {
    case 'ip.src':
    case 'ip.dst': {
      const prefix = parsePrefix(text);
      if (!prefix) return fault('value', 'bad-filter', `"${text}" is not an IPv4 address or prefix such as 10.0.0.0/8`);
      return { kind: 'prefix', prefix: formatPrefix(prefix), set: interval(prefix.first, prefix.last) };
    }
    case 'ip.proto': {
      const number = PROTOCOLS[text] ?? wholeNumber(text, 255);
      if (number === null)
        return fault('value', 'bad-filter', `"${text}" is not tcp, udp, icmp or a number from 0 to 255`);
      return { kind: 'protocol', value: number, set: interval(number, number) };
    }
    case 'port.src':
    case 'port.dst': {
      const [first = '', last = first, ...rest] = text.split('-');
      const lo = wholeNumber(first, NO_PORT - 1);
      const hi = wholeNumber(last, NO_PORT - 1);
      if (lo === null || hi === null || lo > hi || rest.length > 0)
        return fault(
          'value',
          'bad-filter',
          `"${text}" is not a port from 0 to 65535 or an ascending range such as 80-90`,
        );
      return { kind: 'ports', lo, hi, set: interval(lo, hi) };
    }
  }
  const values = valuesOf(attribute);
  if (!values) return fault('attribute', 'unknown-attribute', `no NF of this chain derives "${attribute}"`);
  const ordinal = values.indexOf(text) + 1;
  if (ordinal === 0)
    return fault('value', 'bad-filter', `"${attribute}" takes ${values.join(', ')}; "${text}" is none of them`);
  return { kind: 'derived', value: text, set: interval(ordinal, ordinal) };
}

function wholeNumber(text: string, max: number): number | null {
  return /^\d{1,5}$/.test(text) && Number(text) <= max ? Number(text) : null;
}

/** Why a term cannot be used; `null` when it can. */
export function faultOf(term: FilterTerm, valuesOf: ValuesOf): TermFault | null {
  const read = readTerm(term, valuesOf);
  return 'kind' in read ? null : read;
}

/** Packets that match every usable term of the filter; `null` when no packet can. */
export function filterBox(filter: Filter, valuesOf: ValuesOf, derived: DerivedDomains): Box | null {
  let box: Box | null = new Map();
  for (const term of filter) {
    const read = readTerm(term, valuesOf);
    if (!('kind' in read) || !box) continue;
    const domain = domainOf(term.attribute, derived);
    box = intersectBoxes(box, new Map([[term.attribute, term.op === 'is' ? read.set : subtract(domain, read.set)]]));
  }
  return box;
}

/** The form that a classifier executes. Precondition: no term has a fault, and `layout` holds every derived attribute. */
export function matchTerms(
  filter: Filter,
  valuesOf: ValuesOf,
  layout: ReadonlyMap<string, MetadataField>,
): MatchTerm[] {
  return filter.map((term) => matchTerm(term, valuesOf, layout));
}

function matchTerm(term: FilterTerm, valuesOf: ValuesOf, layout: ReadonlyMap<string, MetadataField>): MatchTerm {
  const read = readTerm(term, valuesOf);
  if (!('kind' in read)) throw new Error(`unresolved filter term: ${read.message}`);
  const not = term.op === 'is-not';
  switch (read.kind) {
    case 'prefix':
      return { field: term.attribute as 'ip.src' | 'ip.dst', prefix: read.prefix, not };
    case 'protocol':
      return { field: 'ip.proto', value: read.value, not };
    case 'ports':
      return { field: term.attribute as 'port.src' | 'port.dst', lo: read.lo, hi: read.hi, not };
    case 'derived': {
      const { offset, width, values } = layout.get(term.attribute)!;
      return { field: 'metadata', offset, width, value: values[read.value]!, not };
    }
  }
}

/** The direct attributes on which a filter decides. */
export function directFields(filter: Filter): string[] {
  return [...new Set(filter.map(({ attribute }) => attribute).filter(isDirect))];
}
