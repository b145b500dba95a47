import type { EntryAction, FieldMatch, SwitchField, SwitchMatch } from '@orrery/contract';
import { SWITCH_FIELD_BITS } from '@orrery/contract';
import { countText } from '../../shared/format/number.js';
import type { PortText } from './ports.js';

const ETHER_TYPES: Readonly<Record<number, string>> = { 2048: 'IPv4', 2054: 'ARP', 34525: 'IPv6' };
const PROTOCOLS: Readonly<Record<number, string>> = { 1: 'ICMP', 6: 'TCP', 17: 'UDP', 50: 'ESP' };

const asItIs: PortText = (port) => port;
const hex = (value: number) => `0x${value.toString(16)}`;
const mac = (value: number) => value.toString(16).padStart(12, '0').match(/../g)!.join(':');
const address = (value: number) => [24, 16, 8, 0].map((shift) => Math.floor(value / 2 ** shift) % 256).join('.');

/** Formats a value of a field; hexadecimal unless the field has a common notation. */
const VALUE_TEXT: Readonly<Record<SwitchField, (value: number) => string>> = {
  'eth.src': mac,
  'eth.dst': mac,
  'eth.type': (value) => ETHER_TYPES[value] ?? hex(value),
  'ip.src': address,
  'ip.dst': address,
  'ip.proto': (value) => PROTOCOLS[value] ?? String(value),
  'ip.fragment': (value) => (value === 1 ? 'yes' : 'no'),
  'ip.later': (value) => (value === 1 ? 'yes' : 'no'),
  'port.src': String,
  'port.dst': String,
  from_host: (value) => (value === 1 ? 'yes' : 'no'),
  flow_id: String,
  split: String,
  nfs: String,
};

/** Prefix length of a mask; null if it is not contiguous. */
function prefixLength(mask: number, bits: number): number | null {
  const free = 2 ** bits - mask;
  const length = bits - Math.log2(free);
  return Number.isInteger(length) ? length : null;
}

function fieldText(field: SwitchField, match: FieldMatch): string {
  const text = VALUE_TEXT[field];
  const bits = SWITCH_FIELD_BITS[field];
  const not = match.not ? 'not ' : '';
  if ('lo' in match) return `${field} ${not}${text(match.lo)}–${text(match.hi)}`;
  const { value, mask } = match;
  const length = prefixLength(mask, bits);
  if (length === bits) return `${field} ${not}${text(value)}`;
  if (length !== null && field.startsWith('ip.')) return `${field} ${not}${text(value)}/${length}`;
  if (length !== null && (field.startsWith('port.') || field === 'flow_id'))
    return `${field} ${not}${value}–${value + 2 ** (bits - length) - 1}`;
  return `${field} ${not}${text(value)}/${field.startsWith('eth.') ? mac(mask) : hex(mask)}`;
}

/** Text of a match, e.g. `in host-1, ip.proto TCP, port.dst 80`. Implied terms are omitted. */
export function matchText({ port, ipv6_dst, fields }: SwitchMatch, portText: PortText = asItIs): string {
  const names = Object.keys(fields) as SwitchField[];
  const hasIp = ipv6_dst !== undefined || names.some((name) => name.startsWith('ip.'));
  const hasPort = names.some((name) => name.startsWith('port.'));
  const isImplied = (name: SwitchField) =>
    (name === 'eth.type' && hasIp) || ((name === 'ip.fragment' || name === 'ip.later') && hasPort);
  const shown = names.filter((name) => !isImplied(name));
  const terms = [
    ...(port === undefined ? [] : [`in ${portText(port)}`]),
    ...(ipv6_dst === undefined ? [] : [`ip.dst ${ipv6_dst}`]),
    ...shown.map((name) => fieldText(name, fields[name]!)),
  ];
  return terms.length > 0 ? terms.join(', ') : 'every packet';
}

export function actionText(action: EntryAction, portText: PortText = asItIs): string {
  switch (action.do) {
    case 'set-mac':
      return `${action.field} := ${action.mac}`;
    case 'set-hop':
      return `hop := ${action.hop}`;
    case 'mark-from-host':
      return 'mark as from a host';
    case 'decrement-ttl':
      return 'decrement TTL';
    case 'output':
      return `output ${portText(action.port)}`;
    case 'group':
      return `group ${action.group}`;
    case 'hash-flow':
      return `flow_id := hash of ${action.key.join(', ')}; split ${action.split}`;
    case 'keep-flow':
      return `keep the flow until idle for ${action.idle_timeout_s} s, at most ${countText(action.capacity)}`;
    case 'enter-nfs':
      return `NFs ${action.nfs}`;
    case 'meter':
      return `meter ${action.meter}`;
    case 'next-table':
      return `table ${action.table}`;
    case 'drop':
      return 'drop';
  }
}
