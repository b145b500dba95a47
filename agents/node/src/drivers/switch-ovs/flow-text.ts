import { createHash } from 'node:crypto';
import {
  type DirectAttribute,
  type EntryAction,
  type FieldMatch,
  FLOW_SPACE,
  type SwitchEntry,
  type SwitchField,
  type SwitchGroup,
  type SwitchMeter,
  type SwitchTable,
} from '@orrery/contract';
import type { KeptFlow } from '../switch-driver.js';
import type { HeldFlow } from './ofctl.js';

/** OpenFlow port numbers by name. */
export type PortNumbers = ReadonlyMap<string, number>;

const TABLE: Record<SwitchTable, number> = {
  admit: 0,
  steer: 1,
  route: 2,
  keep: 3,
  split: 4,
  'nf-1': 5,
  'nf-2': 6,
  'nf-3': 7,
  onward: 8,
};
/** Behind those of the specification: it counts packets whose flow was not learnt. */
const TABLE_NOT_KEPT = 9;
const FAMILIES = new Map([
  [0x0800, 'ip'],
  [0x86dd, 'ipv6'],
]);
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
const REG_FLOW_ID = 'reg2';
const REG_SPLIT = 'reg3';
/** Port to which a flow is kept. */
const REG_PORT = 'reg4';
const REG_NFS = 'reg5';
/** Its lowest bit: whether the flow was learnt. */
const REG_LEARNT = 'reg9';
/** Of a flow that may be kept: where its key has the field, what it is in the packet. */
const KEPT_FIELDS: readonly { readonly field: DirectAttribute; readonly from: string; readonly to: string }[] = [
  { field: 'ip.src', from: 'NXM_OF_IP_SRC[]', to: 'NXM_NX_REG6[]' },
  { field: 'ip.dst', from: 'NXM_OF_IP_DST[]', to: 'NXM_NX_REG7[]' },
  { field: 'ip.proto', from: 'NXM_OF_IP_PROTO[]', to: 'NXM_NX_REG8[0..7]' },
];
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

/**
 * Keys that Open vSwitch can hash into a register (ovs-actions(7), multipath). The hash of addresses and ports is the same
 * in both directions of a flow.
 */
const HASHES: readonly { readonly key: readonly DirectAttribute[]; readonly fields: string }[] = [
  { key: ['ip.src'], fields: 'nw_src' },
  { key: ['ip.dst'], fields: 'nw_dst' },
  { key: ['ip.src', 'ip.dst'], fields: 'symmetric_l3' },
  { key: ['ip.src', 'ip.dst', 'ip.proto', 'port.src', 'port.dst'], fields: 'symmetric_l3l4+udp' },
];
export const HASHED_KEYS = HASHES.map(({ key }) => [...key]);

/** Identity of an entry in the switch: the same content has the same cookie in every generation. */
export function cookieOf(entry: SwitchEntry): string {
  const digest = createHash('sha256').update(JSON.stringify(entry)).digest();
  return `0x${(digest.readBigUInt64BE() | 1n).toString(16)}`;
}

/** A flow in `ovs-ofctl` syntax. Precondition: every port that the entry names has a number. */
export function flowText(entry: SwitchEntry, ports: PortNumbers): string {
  const head = [`cookie=${cookieOf(entry)}`, `table=${TABLE[entry.table]}`, `priority=${entry.priority}`];
  return [...head, ...matchText(entry, ports), `actions=${actionsText(entry.actions, ports, entry.table)}`].join(',');
}

/** Open vSwitch has kilobits for the burst: what is missing to the next is let through, too. */
export function meterText({ id, rate_kbps, burst_bytes }: SwitchMeter): string {
  return `meter=${id},kbps,burst,stats,bands=type=drop,rate=${rate_kbps},burst_size=${Math.ceil((8 * burst_bytes) / 1000)}`;
}

export function groupText(group: SwitchGroup, ports: PortNumbers): string {
  if (group.kind === 'all') {
    const copies = group.buckets.map(
      ({ actions }, i) => `bucket=bucket_id:${i},actions=${actionsText(actions, ports)}`,
    );
    return [`group_id=${group.id},type=all`, ...copies].join(',');
  }
  const fields = group.key.flatMap((field) => HASH_FIELDS[field]).join(',');
  const shares = group.buckets.map(
    ({ weight, actions }, i) => `bucket=bucket_id:${i},weight:${weight},actions=${actionsText(actions, ports)}`,
  );
  return [`group_id=${group.id},type=select,selection_method=hash,fields(${fields})`, ...shares].join(',');
}

/** The ports that actions send to. */
export function portsIn(actions: readonly EntryAction[]): string[] {
  return actions.flatMap((action) => (action.do === 'output' ? [action.port] : []));
}

function matchText({ match }: SwitchEntry, ports: PortNumbers): string[] {
  const { port, ipv6_dst, fields } = match;
  const parts: string[] = [];
  const protocol = exact(fields['ip.proto'], 0xff);
  const family = FAMILIES.get(exact(fields['eth.type'], 0xffff) ?? 0);
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
      // Without the first, Open vSwitch compares the EtherType behind a VLAN tag.
      return ['vlan_tci=0x0000/0x1000', ...(FAMILIES.has(value) ? [] : [`dl_type=0x${value.toString(16)}`])];
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
    case 'ip.later':
      return [`ip_frag=${value === 1 ? 'later' : 'not_later'}`];
    case 'nfs':
      return [`${REG_NFS}=0x${value.toString(16)}`];
    case 'port.src':
      return masked('tp_src', 0xffff);
    case 'port.dst':
      return masked('tp_dst', 0xffff);
    case 'from_host':
      return [`${REG_FROM_HOST}=0x${value}`];
    case 'flow_id':
      return [`${REG_FLOW_ID}=0x${value.toString(16)}/0x${mask.toString(16)}`];
    case 'split':
      return [`${REG_SPLIT}=0x${value.toString(16)}`];
  }
}

function actionsText(actions: readonly EntryAction[], ports: PortNumbers, table?: SwitchTable): string {
  return actions
    .flatMap((action, i) =>
      action.do === 'keep-flow' ? keepText(action, actions.slice(i + 1), ports) : actionText(action, ports, table),
    )
    .join(',');
}

/**
 * Learns an entry for the flow (ovs-actions(7), learn): for all packets that agree in the fields of its key. Ports are matched
 * by the hash over them: flows between two hosts that share it also share their range, and stay together. Where there is no room,
 * the packet is counted.
 */
function keepText(
  { split, capacity, idle_timeout_s }: Extract<EntryAction, { do: 'keep-flow' }>,
  then: readonly EntryAction[],
  ports: PortNumbers,
): string[] {
  const mac = then.find((action) => action.do === 'set-mac')!.mac.replaceAll(':', '');
  const port = ports.get(then.find((action) => action.do === 'output')!.port)!;
  const spec = [
    `table=${TABLE.keep},priority=1,idle_timeout=${idle_timeout_s},limit=${capacity},cookie=${keptCookie(split)}`,
    `result_dst=NXM_NX_${REG_LEARNT.toUpperCase()}[0]`,
    ['eth_type=0x800', ...KEPT_FIELDS.map(({ to }) => to)].join(','),
    `NXM_NX_${REG_FLOW_ID.toUpperCase()}[0..15],NXM_NX_${REG_SPLIT.toUpperCase()}[]`,
    `load:0x${mac}->NXM_OF_ETH_DST[],load:0xffff->NXM_OF_IN_PORT[],output:NXM_NX_${REG_PORT.toUpperCase()}[]`,
  ];
  return [`set_field:${port}->${REG_PORT}`, `learn(${spec.join(',')})`, `resubmit(,${TABLE_NOT_KEPT})`];
}

/** Deletes a kept flow, in `ovs-ofctl` syntax. */
export function deletionOfKept(match: string): string {
  return `delete table=${TABLE.keep},${match}`;
}

/** Of the flows that a split keeps. Even, as the cookie of no entry of a specification is. */
export function keptCookie(split: number): string {
  return `0x${(2 * split).toString(16)}`;
}

/** Of the flow that counts packets of a split whose flows are not kept. */
export function notKeptCookie(split: number): string {
  return `0x${(2 ** 32 + 2 * split).toString(16)}`;
}

/**
 * Counts flows for which the split has no room, by the packets with which they began: what the data path carries of them later is
 * counted only where it is looked up anew.
 */
export function notKeptText(split: number): string {
  const match = `${REG_SPLIT}=0x${split.toString(16)},${REG_LEARNT}=0x0/0x1`;
  return `cookie=${notKeptCookie(split)},table=${TABLE_NOT_KEPT},priority=1,${match},actions=drop`;
}

/** How the switch writes a kept flow. */
const KEPT = new RegExp(
  `^table=${TABLE.keep}, .*priority=1,([^ ]*${REG_FLOW_ID}=(0x[0-9a-f]+)/0xffff,${REG_SPLIT}=(0x[0-9a-f]+)[^ ]*) ` +
    'actions=set_field:([0-9a-f:]{17})->eth_dst,set_field:ANY->in_port,output:(\\d+)$',
);

/** A kept flow; null: it is another flow. */
export function keptFlow({ cookie, content, packets }: HeldFlow): (KeptFlow & { port: number; match: string }) | null {
  const [, match, flow_id, split, mac, port] = KEPT.exec(content) ?? [];
  if (match === undefined || cookie !== keptCookie(Number(split))) return null;
  return { split: Number(split), flow_id: Number(flow_id), mac: mac!, packets, port: Number(port), match };
}

/** `table`: in which it is, if not in a group. */
function actionText(action: EntryAction, ports: PortNumbers, table: SwitchTable | undefined): string[] {
  switch (action.do) {
    case 'set-mac':
      return [`set_field:${action.mac}->${action.field.replace('.', '_')}`];
    case 'set-hop':
      return [`set_field:${hopMac(action.hop)}/${HOP_MASK}->eth_dst`];
    case 'mark-from-host':
      return [`set_field:0x1->${REG_FROM_HOST}`];
    case 'decrement-ttl':
      return ['dec_ttl'];
    case 'output':
      return [NO_IN_PORT, `output:${ports.get(action.port)}`];
    case 'group':
      return [`group:${action.group}`];
    case 'hash-flow': {
      const { fields } = HASHES.find(
        ({ key }) => key.length === action.key.length && key.every((field) => action.key.includes(field)),
      )!;
      const hash = `multipath(${fields},0,modulo_n,${FLOW_SPACE},0,NXM_NX_${REG_FLOW_ID.toUpperCase()}[0..15])`;
      const kept = KEPT_FIELDS.flatMap(({ field, from, to }) =>
        action.key.includes(field) ? [`move:${from}->${to}`] : [],
      );
      return [hash, ...kept, `set_field:0x${action.split.toString(16)}->${REG_SPLIT}`];
    }
    case 'keep-flow':
      return [];
    case 'enter-nfs':
      return [`set_field:0x${action.nfs.toString(16)}->${REG_NFS}`];
    case 'meter':
      return [`meter:${action.meter}`];
    case 'next-table': {
      const next = TABLE[action.table];
      // OpenFlow goes to tables with higher numbers only.
      if (table !== undefined && next < TABLE[table]) return [`resubmit(,${next})`];
      return [...(action.table === 'steer' ? [COPY_PROTOCOL] : []), `goto_table:${next}`];
    }
    case 'drop':
      return ['drop'];
  }
}

function exact(one: FieldMatch | undefined, whole: number): number | null {
  return one && 'mask' in one && one.mask === whole && !one.not ? one.value : null;
}

/** Prefix and hop of a tag; the metadata behind them stays. */
const HOP_MASK = 'ff:ff:ff:ff:00:00';
const hopMac = (hop: number) => mac(0x020e_0000_0000 + hop * 0x1_0000);
const bytes = (value: number, count: number) =>
  Array.from({ length: count }, (_, i) => Math.floor(value / 2 ** (8 * (count - 1 - i))) % 256);
const mac = (value: number) =>
  bytes(value, 6)
    .map((byte) => byte.toString(16).padStart(2, '0'))
    .join(':');
const address = (value: number) => bytes(value, 4).join('.');
