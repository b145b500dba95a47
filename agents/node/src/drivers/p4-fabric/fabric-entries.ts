import {
  type DirectAttribute,
  type EntryAction,
  type FieldMatch,
  FLOW_SPACE,
  type SwitchEntry,
  type SwitchField,
  type SwitchGroup,
  type SwitchSpec,
  type SwitchTable,
} from '@orrery/contract';
import type { KeyField, NamedEntry } from '../p4runtime/table-entries.js';

/** Numbers of ports by name. */
export type PortNumbers = ReadonlyMap<string, number>;

/** An entry of `twin/p4/fabric.p4`. */
export interface FabricEntry extends NamedEntry {
  /** Index in the specification; null: it belongs to a group. */
  readonly index: number | null;
}

export interface FabricGroup {
  readonly id: number;
  /** Egress port of each copy; copy `i` has the number `i + 1`. */
  readonly ports: readonly number[];
}

/** A place in the meters of the program, in bytes and bytes a second. */
export interface FabricMeter {
  /** In the specification. */
  readonly id: number;
  readonly index: number;
  readonly rate: bigint;
  readonly burst: bigint;
}

export interface FabricContent {
  readonly entries: readonly FabricEntry[];
  readonly groups: readonly FabricGroup[];
  readonly meters: readonly FabricMeter[];
}

/** Split numbers from here on are those of groups. */
const FIRST_GROUP_SPLIT = 0x8000_0000n;
const MOST_GROUPS = 0xffff;
/** `METERS` of the program. */
const MOST_METERS = 1024;
/** Where a packet is next, as the program counts. */
const NEXT_STAGE: ReadonlyMap<SwitchTable, bigint> = new Map([
  ['nf-2', 2n],
  ['nf-3', 3n],
  ['onward', 4n],
]);

/**
 * What `fabric.p4` has to hold for a specification. Entries and buckets whose ports have no number are left out. Throws an
 * error that names an action which the program does not have.
 */
export function fabricContent(spec: SwitchSpec, ports: PortNumbers): FabricContent {
  const lowering = new Lowering(spec, ports);
  return {
    entries: [
      ...spec.groups.flatMap((group) => lowering.ofGroup(group)),
      ...spec.entries.flatMap((entry, index) => lowering.ofEntry(entry, index)),
    ],
    groups: spec.groups.flatMap((group) => lowering.replication(group)),
    meters: lowering.meters,
  };
}

class Lowering {
  private readonly groups: ReadonlyMap<number, SwitchGroup>;
  private readonly numbers: ReadonlyMap<number, number>;

  readonly meters: readonly FabricMeter[];

  constructor(
    { groups, meters = [] }: SwitchSpec,
    private readonly ports: PortNumbers,
  ) {
    this.groups = new Map(groups.map((group) => [group.id, group]));
    const copying = groups.filter(({ kind }) => kind === 'all').map(({ id }) => id);
    this.numbers = new Map([...places(copying, MOST_GROUPS)].map(([id, place]) => [id, place + 1]));
    const indices = places(
      meters.map(({ id }) => id),
      MOST_METERS,
    );
    this.meters = meters.map(({ id, rate_kbps, burst_bytes }) => ({
      id,
      index: indices.get(id)!,
      rate: BigInt(rate_kbps) * 125n,
      burst: BigInt(burst_bytes),
    }));
  }

  ofEntry(entry: SwitchEntry, index: number): FabricEntry[] {
    const { match, actions, priority } = entry;
    if (match.port !== undefined && !this.ports.has(match.port)) return [];
    const done = this.action(entry.table, actions);
    if (!done) return [];
    const key: Record<string, KeyField> = {};
    if (match.port !== undefined) key.port = exactly(this.ports.get(match.port)!, 9);
    for (const [field, one] of Object.entries(match.fields)) key[keyName(field)] = keyField(field as SwitchField, one);
    if (match.ipv6_dst === undefined)
      return [{ table: tableName(entry.table), priority: priority + 1, key, ...done, index }];
    const ipv6 = { ipv6_dst: { value: ipv6Number(match.ipv6_dst), mask: (1n << 128n) - 1n } };
    return [{ table: 'route_ipv6', priority: 0, key: ipv6, ...done, index }];
  }

  /** Shares of the flow space in proportion to the weights, or what becomes of each copy. */
  ofGroup(group: SwitchGroup): FabricEntry[] {
    if (group.kind === 'all') {
      return this.copies(group).map(({ hop }, i) => ({
        table: 'copies',
        priority: 0,
        key: { group: exactly(this.numbers.get(group.id)!, 16), copy: exactly(i + 1, 16) },
        action: 'set_hop',
        params: { hop: BigInt(hop) },
        index: null,
      }));
    }
    const buckets = group.buckets.flatMap(({ weight, actions }) => {
      const done = this.action('split', actions);
      return done ? [{ weight, done }] : [];
    });
    const total = buckets.reduce((sum, { weight }) => sum + weight, 0);
    let before = 0;
    return buckets.flatMap(({ weight, done }): FabricEntry[] => {
      const lo = Math.floor((before / total) * FLOW_SPACE);
      before += weight;
      const hi = Math.floor((before / total) * FLOW_SPACE) - 1;
      if (hi < lo) return [];
      const key = {
        split: exactly(FIRST_GROUP_SPLIT + BigInt(group.id), 32),
        flow_id: { lo: BigInt(lo), hi: BigInt(hi) },
      };
      return [{ table: 'split', priority: 1, key, ...done, index: null }];
    });
  }

  replication(group: SwitchGroup): FabricGroup[] {
    if (group.kind !== 'all') return [];
    const copies = this.copies(group);
    return copies.length === 0 ? [] : [{ id: this.numbers.get(group.id)!, ports: copies.map(({ port }) => port) }];
  }

  private copies(group: SwitchGroup & { kind: 'all' }): { hop: number; port: number }[] {
    return group.buckets.flatMap(({ actions }) => {
      const done = gathered(actions);
      const port = this.ports.get(done.output?.port ?? '');
      if (!done['set-hop']) throw new Error('a copy without a hop of its own is not among what fabric.p4 does');
      return port === undefined ? [] : [{ hop: done['set-hop'].hop, port }];
    });
  }

  /** Null: a port has no number, or its group is empty. */
  private action(table: string, actions: readonly EntryAction[]): Pick<FabricEntry, 'action' | 'params'> | null {
    const done = gathered(actions);
    const returns = done['decrement-ttl'] !== undefined;
    const next = done['next-table']?.table;
    if (done.drop) return { action: 'drop', params: {} };
    if (done.group) {
      const group = this.groups.get(done.group.group);
      if (group?.kind === 'all' && table === 'admit') {
        if (this.copies(group).length === 0) return null;
        return { action: 'replicate', params: { group: BigInt(this.numbers.get(group.id)!) } };
      }
      if (group?.kind === 'select' && (table === 'steer' || table === 'onward')) {
        if (this.ofGroup(group).length === 0) return null;
        return hashed(group.key, FIRST_GROUP_SPLIT + BigInt(group.id), returns ? 'hash_return' : 'hash_flow');
      }
    } else if (done['hash-flow'] && next === 'split') {
      return hashed(done['hash-flow'].key, BigInt(done['hash-flow'].split), returns ? 'hash_return' : 'hash_flow');
    } else if (done['hash-flow'] && next === 'keep' && !returns) {
      return hashed(done['hash-flow'].key, BigInt(done['hash-flow'].split), 'hash_kept');
    } else if (next === 'split' && table === 'keep') {
      return { action: 'to_split', params: {} };
    } else if (done['enter-nfs'] && next === 'nf-1') {
      return { action: 'enter_nfs', params: { nfs: BigInt(done['enter-nfs'].nfs) } };
    } else if (next !== undefined && NEXT_STAGE.has(next) && table.startsWith('nf-')) {
      const stage = NEXT_STAGE.get(next)!;
      if (!done.meter) return { action: 'pass', params: { stage } };
      const { meter } = done.meter;
      const rate = this.meters.find(({ id }) => id === meter);
      if (!rate) throw new Error(`the specification has no meter ${meter}`);
      return { action: 'limit', params: { stage, rate: BigInt(rate.index) } };
    } else if (next === 'steer' && table === 'admit') {
      return { action: 'to_steer', params: { from_host: done['mark-from-host'] ? 1n : 0n } };
    } else if (next === 'route' && table === 'steer') {
      return { action: 'to_route', params: {} };
    } else if (done.output) {
      const port = this.ports.get(done.output.port);
      const mac = done['set-mac'];
      if (port === undefined) return null;
      if (!mac && !returns) return { action: 'output', params: { port: BigInt(port) } };
      if (mac?.field === 'eth.dst')
        return {
          action: sending(returns, done['keep-flow'] !== undefined),
          params: { mac: macNumber(mac.mac), port: BigInt(port) },
        };
    }
    throw new Error(`${actions.map((one) => one.do).join(', ')} in ${table} is not among what fabric.p4 does`);
  }
}

type Gathered = { [Kind in EntryAction['do']]?: Extract<EntryAction, { do: Kind }> };

function gathered(actions: readonly EntryAction[]): Gathered {
  return Object.fromEntries(actions.map((action) => [action.do, action]));
}

function hashed(
  key: readonly DirectAttribute[],
  split: bigint,
  action: 'hash_flow' | 'hash_kept' | 'hash_return',
): Pick<FabricEntry, 'action' | 'params'> {
  const under = (masks: Partial<Record<DirectAttribute, bigint>>) =>
    key.reduce((mask, field) => mask | (masks[field] ?? 0n), 0n);
  return {
    action,
    params: {
      split,
      addresses_mask: under({ 'ip.src': 0xffff_ffffn << 32n, 'ip.dst': 0xffff_ffffn }),
      rest_mask: under({ 'ip.proto': 0xffn << 32n, 'port.src': 0xffffn << 16n, 'port.dst': 0xffffn }),
    },
  };
}

/** A place below `most` for each id, the same for the same ids. Throws an error when there are more ids than places. */
export function places(ids: readonly number[], most: number): ReadonlyMap<number, number> {
  if (ids.length > most) throw new Error(`fabric.p4 has no room for ${ids.length} meters or groups`);
  const found = new Map<number, number>();
  const taken = new Set<number>();
  for (const id of [...ids].sort((a, b) => a - b)) {
    let place = id % most;
    while (taken.has(place)) place = (place + 1) % most;
    taken.add(place);
    found.set(id, place);
  }
  return found;
}

/** Flows that the switch keeps have entries of their own in `keep`; the others have one in `unkept`. */
const tableName = (table: string) => (table === 'keep' ? 'unkept' : table.replace('-', '_'));
const sending = (returns: boolean, tells: boolean) => (returns ? 'send_return' : tells ? 'send_new' : 'send');
const keyName = (field: string) => field.replace('.', '_');

function keyField(field: SwitchField, one: FieldMatch): KeyField {
  if (one.not) throw new Error(`fabric.p4 does not match ${field} negated`);
  if ('lo' in one) return { lo: BigInt(one.lo), hi: BigInt(one.hi) };
  // Wider than in the contract, for the splits of groups.
  if (field === 'split') return exactly(one.value, 32);
  return { value: BigInt(one.value), mask: BigInt(one.mask) };
}

const exactly = (value: number | bigint, bits: number): KeyField => ({
  value: BigInt(value),
  mask: (1n << BigInt(bits)) - 1n,
});
/** Of its text. */
export const macNumber = (mac: string) => BigInt(`0x${mac.replaceAll(':', '')}`);

function ipv6Number(address: string): bigint {
  const [head = '', tail] = address.split('::');
  const words = (text: string) => (text === '' ? [] : text.split(':'));
  const before = words(head);
  const after = tail === undefined ? [] : words(tail);
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => '0');
  return [...before, ...zeros, ...after].reduce((number, word) => (number << 16n) | BigInt(`0x${word}`), 0n);
}
