import { createHash } from 'node:crypto';
import type {
  DirectAttribute,
  EntryAction,
  FieldMatch,
  SwitchEntry,
  SwitchField,
  SwitchGroup,
  SwitchTable,
} from '@orrery/contract';

/** OpenFlow port numbers by name. */
export type PortNumbers = ReadonlyMap<string, number>;

const TABLE: Record<SwitchTable, number> = { admit: 0, steer: 1, route: 2 };
const PROTOCOL_NAMES = new Map([
  [6, 'tcp'],
  [17, 'udp'],
]);
/**
 * Register that holds the protocol number: OpenFlow matches `nw_proto` exactly or not at all, but a register under a
 * mask.
 */
const REG_PROTOCOL = 'reg0';
const REG_FROM_HOST = 'reg1';
const COPY_PROTOCOL = `move:NXM_OF_IP_PROTO[]->NXM_NX_${REG_PROTOCOL.toUpperCase()}[0..7]`;
/** OpenFlow never outputs to the port that a packet came from; a packet with no ingress port may go anywhere. */
const NO_IN_PORT = 'set_field:ANY->in_port';

const HASH_FIELDS: Record<DirectAttribute, readonly string[]> = {
  'ip.src': ['ip_src'],
  'ip.dst': ['ip_dst'],
  'ip.proto': ['nw_proto'],
  'port.src': ['tcp_src', 'udp_src'],
  'port.dst': ['tcp_dst', 'udp_dst'],
};

/** Identity of an entry in the switch: the same content has the same cookie in every generation. */
export function cookieOf(entry: SwitchEntry): string {
  const digest = createHash('sha256').update(JSON.stringify(entry)).digest();
  return `0x${(digest.readBigUInt64BE() | 1n).toString(16)}`;
}

/** A flow in `ovs-ofctl` syntax. Precondition: every port that the entry names has a number. */
export function flowText(entry: SwitchEntry, ports: PortNumbers): string {
  const head = [`cookie=${cookieOf(entry)}`, `table=${TABLE[entry.table]}`, `priority=${entry.priority}`];
  return [...head, ...matchText(entry, ports), `actions=${actionsText(entry.actions, ports)}`].join(',');
}

export function groupText({ id, key, buckets }: SwitchGroup, ports: PortNumbers): string {
  const fields = key.flatMap((field) => HASH_FIELDS[field]).join(',');
  const shares = buckets.map(
    ({ weight, actions }, i) => `bucket=bucket_id:${i},weight:${weight},actions=${actionsText(actions, ports)}`,
  );
  return [`group_id=${id},type=select,selection_method=hash,fields(${fields})`, ...shares].join(',');
}

/** The ports that actions send to. */
export function portsIn(actions: readonly EntryAction[]): string[] {
  return actions.flatMap((action) => (action.do === 'output' ? [action.port] : []));
}

function matchText({ match }: SwitchEntry, ports: PortNumbers): string[] {
  const { port, ipv6_dst, fields } = match;
  const parts: string[] = [];
  const protocol = exact(fields['ip.proto'], 0xff);
  const family = { 2048: 'ip', 34525: 'ipv6' }[exact(fields['eth.type'], 0xffff) ?? 0];
  if (family !== undefined) parts.push((family === 'ip' && PROTOCOL_NAMES.get(protocol ?? -1)) || family);
  if (port !== undefined) parts.push(`in_port=${ports.get(port)}`);
  if (ipv6_dst !== undefined) parts.push(`ipv6_dst=${ipv6_dst}`);
  for (const [field, one] of Object.entries(fields)) parts.push(...fieldText(field as SwitchField, one));
  return parts;
}

function fieldText(field: SwitchField, one: FieldMatch): string[] {
  if (!('mask' in one) || one.not) throw new Error(`Open vSwitch matches ${field} only under a mask`);
  const { value, mask } = one;
  const masked = (name: string, whole: number) => [
    `${name}=${value.toString()}${mask === whole ? '' : `/0x${mask.toString(16)}`}`,
  ];
  switch (field) {
    case 'eth.type':
      // Without this, Open vSwitch compares the EtherType behind a VLAN tag.
      return ['vlan_tci=0x0000/0x1000'];
    case 'eth.src':
      return [`dl_src=${mac(value)}/${mac(mask)}`];
    case 'eth.dst':
      return [`dl_dst=${mac(value)}/${mac(mask)}`];
    case 'ip.src':
      return [`nw_src=${address(value)}/${address(mask)}`];
    case 'ip.dst':
      return [`nw_dst=${address(value)}/${address(mask)}`];
    case 'ip.proto':
      if (mask !== 0xff) return [`${REG_PROTOCOL}=0x${value.toString(16)}/0x${mask.toString(16)}`];
      return PROTOCOL_NAMES.has(value) ? [] : [`nw_proto=${value}`];
    case 'ip.fragment':
      return [`ip_frag=${value === 1 ? 'yes' : 'no'}`];
    case 'port.src':
      return masked('tp_src', 0xffff);
    case 'port.dst':
      return masked('tp_dst', 0xffff);
    case 'from_host':
      return [`${REG_FROM_HOST}=0x${value}`];
  }
}

function actionsText(actions: readonly EntryAction[], ports: PortNumbers): string {
  return actions.flatMap((action) => actionText(action, ports)).join(',');
}

function actionText(action: EntryAction, ports: PortNumbers): string[] {
  switch (action.do) {
    case 'set-mac':
      return [`set_field:${action.mac}->${action.field.replace('.', '_')}`];
    case 'mark-from-host':
      return [`set_field:0x1->${REG_FROM_HOST}`];
    case 'decrement-ttl':
      return ['dec_ttl'];
    case 'output':
      return [NO_IN_PORT, `output:${ports.get(action.port)}`];
    case 'group':
      return [`group:${action.group}`];
    case 'next-table':
      return [...(action.table === 'steer' ? [COPY_PROTOCOL] : []), `goto_table:${TABLE[action.table]}`];
    case 'drop':
      return ['drop'];
  }
}

function exact(one: FieldMatch | undefined, whole: number): number | null {
  return one && 'mask' in one && one.mask === whole && !one.not ? one.value : null;
}

const bytes = (value: number, count: number) =>
  Array.from({ length: count }, (_, i) => Math.floor(value / 2 ** (8 * (count - 1 - i))) % 256);
const mac = (value: number) =>
  bytes(value, 6)
    .map((byte) => byte.toString(16).padStart(2, '0'))
    .join(':');
const address = (value: number) => bytes(value, 4).join('.');
