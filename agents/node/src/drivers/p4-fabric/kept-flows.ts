import type { KeptFlowKey, SwitchSpec } from '@orrery/contract';
import { bytesNumber } from '../p4runtime/bytes.js';
import type { Entity, TableEntry, Update } from '../p4runtime/messages.js';
import type { P4Info } from '../p4runtime/p4-info.js';
import { contentOf, identityOf, tableEntry } from '../p4runtime/table-entries.js';
import type { KeptFlow } from '../switch-driver.js';
import type { Held } from './drift.js';
import { macNumber, type PortNumbers } from './fabric-entries.js';
import type { ListName, NewFlow, ToldFlows } from './told-flows.js';

/** Of digests: how long the first packet of a flow waits to be told, how many flows at once, and how soon it is told again. */
const DIGESTS = { maxTimeoutNs: '5000000', maxListSize: 512, ackTimeoutNs: '100000000' } as const;

/** A split that keeps flows. */
interface KeepingSplit {
  readonly capacity: number;
  readonly idle_timeout_s: number;
  /** Where flows may stay: MAC address and port, as numbers. */
  readonly targets: ReadonlySet<string>;
  /** Whether it keeps those that begin, or only those that it was told. */
  readonly tells: boolean;
}

/** The splits of a specification that keep flows, by number. */
export function keepingSplits(
  { entries, exceptions = [] }: Pick<SwitchSpec, 'entries' | 'exceptions'>,
  ports: PortNumbers,
): ReadonlyMap<number, KeepingSplit> {
  const found = new Map<number, KeepingSplit & { targets: Set<string> }>();
  for (const { actions } of entries) {
    const keep = actions.find((action) => action.do === 'keep-flow');
    const mac = actions.find((action) => action.do === 'set-mac')?.mac;
    const port = ports.get(actions.find((action) => action.do === 'output')?.port ?? '');
    if (!keep || mac === undefined) continue;
    const { split, capacity, idle_timeout_s } = keep;
    const { targets } = found.get(split) ?? { targets: new Set<string>() };
    if (port !== undefined) targets.add(targetText(macNumber(mac), port));
    found.set(split, { capacity, idle_timeout_s, targets, tells: true });
  }
  for (const { split, idle_timeout_s, mac, port } of exceptions) {
    const { targets, capacity } = found.get(split) ?? { targets: new Set<string>(), capacity: 0 };
    const number = ports.get(port);
    if (number !== undefined) targets.add(targetText(macNumber(mac), number));
    found.set(split, { capacity: capacity + 1, idle_timeout_s, targets, tells: false });
  }
  return found;
}

/**
 * Entries for the flows that the switch is told to keep, but for those that it has. Where it has the ranges of their split already, it was
 * told before, and what is missing has ended.
 */
export function exceptionEntries(
  { exceptions = [] }: Pick<SwitchSpec, 'exceptions'>,
  ports: PortNumbers,
  before: Pick<Held, 'entries' | 'kept'>,
  wanted: ReadonlyMap<string, TableEntry>,
  info: P4Info,
): Update[] {
  const told = new Set(exceptions.map(({ split }) => split));
  const ranges = info.tables.get('split')!.id;
  for (const [identity, entry] of wanted) {
    const held = before.entries.get(identity);
    if (entry.tableId === ranges && !(held && contentOf(held) === contentOf(entry)))
      told.delete(Number(placeOf(entry, info).split));
  }
  return exceptions.flatMap((exception): Update[] => {
    if (told.has(exception.split)) return [];
    const port = ports.get(exception.port);
    if (port === undefined) return [];
    const { flow_id, ip_src, ip_dst, ip_proto, split } = exception;
    const numbers = { split, flow_id, ip_src, ip_dst, ip_proto, port };
    const flow = Object.fromEntries(Object.entries(numbers).map(([name, value]) => [name, BigInt(value)]));
    const entry = entryOf({ ...flow, mac: macNumber(exception.mac) } as unknown as NewFlow, exception, info);
    return before.kept.has(identityOf(entry)) ? [] : [{ type: 'INSERT', entity: { tableEntry: entry } }];
  });
}

/**
 * The entries of flows in progress (E2 3.4.4): one for each flow that a packet has begun and for which its split has room. Of a
 * flow that begins less than a few milliseconds before its ranges change, single packets may follow the new ones until it has its
 * entry.
 */
export class KeptFlows {
  private splits: ReadonlyMap<number, KeepingSplit> = new Map();
  /** Numbers of splits by the identity of the entry. */
  private readonly held = new Map<string, number>();
  /** How many of these each split has. */
  private readonly used = new Map<number, number>();
  private readonly refused = new Map<number, number>();

  /** Packets of flows that got no entry for want of room, by split. */
  get withoutRoom(): ReadonlyMap<number, number> {
    return this.refused;
  }

  /**
   * Deletions of the entries whose split or target is gone and of those for which their split has no more room, those without
   * a packet for the longest first; the others get the time-out of their split.
   */
  follow(splits: ReadonlyMap<number, KeepingSplit>, kept: ReadonlyMap<string, TableEntry>, info: P4Info): Update[] {
    this.splits = splits;
    this.know(new Map(), info);
    const latestFirst = [...kept].sort(([, one], [, other]) => Number(idleNs(one) - idleNs(other)));
    return latestFirst.flatMap(([identity, entry]): Update[] => {
      const { split, mac, port } = placeOf(entry, info);
      const about = splits.get(Number(split));
      if (!about?.targets.has(targetText(mac, port)) || this.inUse(Number(split)) >= about.capacity)
        return [{ type: 'DELETE', entity: { tableEntry: identified(entry) } }];
      this.hold(identity, Number(split));
      const idleTimeoutNs = timeoutNs(about);
      if (entry.idleTimeoutNs === idleTimeoutNs) return [];
      const { action } = entry;
      return [
        { type: 'MODIFY', entity: { tableEntry: { ...identified(entry), ...(action && { action }), idleTimeoutNs } } },
      ];
    });
  }

  /** What the switch holds now. */
  know(kept: ReadonlyMap<string, TableEntry>, info: P4Info): void {
    this.held.clear();
    this.used.clear();
    for (const [identity, entry] of kept) this.hold(identity, Number(placeOf(entry, info).split));
  }

  /** Entries for the flows of lists, as far as there is room; `taken`: the lists in which there is for all. */
  enter(told: readonly ToldFlows[], info: P4Info): Entered {
    const updates: Update[] = [];
    const taken: ListName[] = [];
    let without_room = 0;
    for (const { list, flows } of told) {
      const before = without_room;
      for (const flow of flows) {
        const split = Number(flow.split);
        const about = this.splits.get(split);
        if (!about?.targets.has(targetText(flow.mac, flow.port))) continue;
        const entry = entryOf(flow, about, info);
        const identity = identityOf(entry);
        if (this.held.has(identity)) continue;
        if (this.inUse(split) >= about.capacity) {
          without_room++;
          this.refused.set(split, (this.refused.get(split) ?? 0) + 1);
          continue;
        }
        this.hold(identity, split);
        updates.push({ type: 'INSERT', entity: { tableEntry: entry } });
      }
      if (list && without_room === before) taken.push(list);
    }
    return { updates, taken, without_room };
  }

  private hold(identity: string, split: number): void {
    this.held.set(identity, split);
    this.used.set(split, this.inUse(split) + 1);
  }

  private inUse(split: number): number {
    return this.used.get(split) ?? 0;
  }
}

interface Entered {
  readonly updates: readonly Update[];
  readonly taken: readonly ListName[];
  /** Flows that got no entry. */
  readonly without_room: number;
}

/** Those that no packet has hit for their time. */
export function idleFlows(kept: ReadonlyMap<string, TableEntry>): ReadonlyMap<string, TableEntry> {
  const isIdle = (entry: TableEntry) =>
    entry.timeSinceLastHit !== undefined && idleNs(entry) >= BigInt(entry.idleTimeoutNs ?? '0');
  return new Map([...kept].filter(([, entry]) => isIdle(entry)));
}

export function ending(kept: Iterable<TableEntry>): Update[] {
  return [...kept].map((entry) => ({ type: 'DELETE', entity: { tableEntry: identified(entry) } }));
}

/** Asks for the kept flows with the time since the last packet of each. */
export function keptQuery(info: P4Info): Entity {
  return { tableEntry: { tableId: info.tables.get('keep')!.id, counterData: {}, timeSinceLastHit: {} } };
}

/** What makes the switch tell of new flows; nothing where it does. `found`: what it says of its digests. */
export function digestsMissing(found: readonly Entity[], info: P4Info): Update[] {
  const id = digestId(info);
  const config = found.find(({ digestEntry }) => digestEntry?.digestId === id)?.digestEntry?.config;
  const told = (name: keyof typeof DIGESTS) => String(config?.[name] ?? 0) === String(DIGESTS[name]);
  if (config && told('maxTimeoutNs') && told('maxListSize') && told('ackTimeoutNs')) return [];
  return [{ type: config ? 'MODIFY' : 'INSERT', entity: { digestEntry: { digestId: id, config: DIGESTS } } }];
}

export function digestId(info: P4Info): number {
  const digest = info.digests.get('new_flow_t');
  if (!digest) throw new Error('the program has no digest new_flow_t');
  return digest.id;
}

export function keptFlows(kept: Iterable<TableEntry>, info: P4Info): KeptFlow[] {
  return [...kept].map((entry) => {
    const { split, flow_id, mac } = placeOf(entry, info);
    return {
      split: Number(split),
      flow_id: Number(flow_id),
      mac: macText(mac),
      packets: Number(entry.counterData?.packetCount ?? 0),
    };
  });
}

/** Of the flows of a split. */
export function keptKeys(kept: Iterable<TableEntry>, split: number, info: P4Info): KeptFlowKey[] {
  return [...kept].flatMap((entry): KeptFlowKey[] => {
    const { split: own, flow_id, ip_src, ip_dst, ip_proto } = placeOf(entry, info);
    if (Number(own) !== split) return [];
    const addresses = { ip_src: Number(ip_src), ip_dst: Number(ip_dst) };
    return [{ flow_id: Number(flow_id), ...addresses, ip_proto: Number(ip_proto) }];
  });
}

function placeOf({ tableId, match = [], action }: TableEntry, info: P4Info) {
  const fields = info.tableById(tableId)?.fields ?? [];
  const keyed = (name: string) =>
    numberOf(match.find(({ fieldId }) => fields.some((one) => one.id === fieldId && one.name === name))?.exact?.value);
  const of = info.actions.get('send');
  const given = (name: string) =>
    numberOf(action?.action?.params?.find(({ paramId }) => paramId === of?.params.get(name)?.id)?.value);
  return {
    ...{ split: keyed('split'), flow_id: keyed('flow_id'), mac: given('mac'), port: given('port') },
    ...{ ip_src: keyed('ip_src'), ip_dst: keyed('ip_dst'), ip_proto: keyed('ip_proto') },
  };
}

function entryOf(
  { mac, port, ...key }: NewFlow,
  about: Pick<KeepingSplit, 'idle_timeout_s'>,
  info: P4Info,
): TableEntry {
  const bits = { split: 32, flow_id: 16, ip_src: 32, ip_dst: 32, ip_proto: 8 };
  const whole = (name: keyof typeof bits) => ({ value: key[name], mask: (1n << BigInt(bits[name])) - 1n });
  const fields = Object.fromEntries(Object.keys(bits).map((name) => [name, whole(name as keyof typeof bits)]));
  const entry = tableEntry({ table: 'keep', priority: 0, key: fields, action: 'send', params: { mac, port } }, info);
  return { ...entry, idleTimeoutNs: timeoutNs(about) };
}

const identified = ({ tableId, match }: TableEntry): TableEntry => ({ tableId, ...(match ? { match } : {}) });
const idleNs = ({ timeSinceLastHit }: TableEntry) => BigInt(timeSinceLastHit?.elapsedNs ?? '0');
const timeoutNs = ({ idle_timeout_s }: Pick<KeepingSplit, 'idle_timeout_s'>) =>
  String(BigInt(idle_timeout_s) * 1_000_000_000n);
const numberOf = (bytes: Buffer | undefined) => (bytes ? bytesNumber(bytes) : 0n);
const targetText = (mac: bigint, port: bigint | number) => `${mac} ${port}`;
const macText = (mac: bigint) =>
  mac
    .toString(16)
    .padStart(12, '0')
    .replace(/(..)(?!$)/g, '$1:');
