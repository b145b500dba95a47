import type { SwitchSpec } from '@orrery/contract';
import { numberText } from '../p4runtime/bytes.js';
import type { DigestList, TableEntry, Update } from '../p4runtime/messages.js';
import type { P4Info } from '../p4runtime/p4-info.js';
import { identityOf, tableEntry } from '../p4runtime/table-entries.js';
import type { KeptFlow } from '../switch-driver.js';
import { macNumber, type PortNumbers } from './fabric-entries.js';

/** Of digests: how long the first packet of a flow waits to be told, how many flows at once, and how soon it is told again. */
const DIGESTS = { maxTimeoutNs: '1000000', maxListSize: 512, ackTimeoutNs: '1000000000' } as const;

/** A flow that is to stay where the ranges of its split sent its first packet. */
interface NewFlow {
  readonly split: bigint;
  readonly flow_id: bigint;
  readonly ip_src: bigint;
  readonly ip_dst: bigint;
  readonly ip_proto: bigint;
  readonly mac: bigint;
  readonly port: bigint;
}
/** As `new_flow_t` of the program has them. */
const MEMBERS = ['split', 'flow_id', 'ip_src', 'ip_dst', 'ip_proto', 'mac', 'port'] as const;

interface KeepingSplit {
  readonly capacity: number;
  readonly idle_timeout_s: number;
  /** Where flows may stay: MAC address and port, as numbers. */
  readonly targets: ReadonlySet<string>;
}

/** The splits of a specification that keep flows, by number. */
export function keepingSplits({ entries }: SwitchSpec, ports: PortNumbers): ReadonlyMap<number, KeepingSplit> {
  const found = new Map<number, KeepingSplit & { targets: Set<string> }>();
  for (const { actions } of entries) {
    const keep = actions.find((action) => action.do === 'keep-flow');
    const mac = actions.find((action) => action.do === 'set-mac')?.mac;
    const port = ports.get(actions.find((action) => action.do === 'output')?.port ?? '');
    if (!keep || mac === undefined) continue;
    const { split, capacity, idle_timeout_s } = keep;
    const { targets } = found.get(split) ?? { targets: new Set<string>() };
    if (port !== undefined) targets.add(targetText(macNumber(mac), port));
    found.set(split, { capacity, idle_timeout_s, targets });
  }
  return found;
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

  /** Deletions of the entries whose split or target is gone. */
  follow(splits: ReadonlyMap<number, KeepingSplit>, kept: ReadonlyMap<string, TableEntry>, info: P4Info): Update[] {
    this.splits = splits;
    this.know(kept, info);
    return [...kept].flatMap(([identity, entry]) => {
      const { split, mac, port } = placeOf(entry, info);
      if (splits.get(Number(split))?.targets.has(targetText(mac, port))) return [];
      this.held.delete(identity);
      return [{ type: 'DELETE', entity: { tableEntry: identified(entry) } } as const];
    });
  }

  /** What the switch holds now. */
  know(kept: ReadonlyMap<string, TableEntry>, info: P4Info): void {
    this.held.clear();
    for (const [identity, entry] of kept) this.held.set(identity, Number(placeOf(entry, info).split));
  }

  /** Entries for the flows of a list, as far as there is room; `whole`: there is for all. */
  enter({ data = [] }: DigestList, info: P4Info): { updates: Update[]; whole: boolean } {
    const inUse = new Map<number, number>();
    for (const split of this.held.values()) inUse.set(split, (inUse.get(split) ?? 0) + 1);
    const updates: Update[] = [];
    let whole = true;
    for (const one of data) {
      const flow = flowOf(one.struct?.members ?? []);
      const split = Number(flow?.split ?? 0);
      const about = this.splits.get(split);
      if (!flow || !about?.targets.has(targetText(flow.mac, flow.port))) continue;
      const entry = entryOf(flow, about.idle_timeout_s, info);
      const identity = identityOf(entry);
      if (this.held.has(identity)) continue;
      const used = inUse.get(split) ?? 0;
      if (used >= about.capacity) {
        whole = false;
        continue;
      }
      inUse.set(split, used + 1);
      this.held.set(identity, split);
      updates.push({ type: 'INSERT', entity: { tableEntry: entry } });
    }
    return { updates, whole };
  }

  /** Deletions of those among idle entries that are of kept flows. */
  end(idle: readonly TableEntry[], info: P4Info): Update[] {
    const table = info.tables.get('keep')?.id;
    return idle.flatMap((entry) => {
      if (entry.tableId !== table || !this.held.delete(identityOf(entry))) return [];
      return [{ type: 'DELETE', entity: { tableEntry: identified(entry) } } as const];
    });
  }
}

/** That the switch tells of new flows. */
export function digestsOn(info: P4Info): Update {
  return { type: 'INSERT', entity: { digestEntry: { digestId: digestId(info), config: DIGESTS } } };
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

function placeOf({ tableId, match = [], action }: TableEntry, info: P4Info) {
  const fields = info.tableById(tableId)?.fields ?? [];
  const keyed = (name: string) =>
    numberOf(match.find(({ fieldId }) => fields.some((one) => one.id === fieldId && one.name === name))?.exact?.value);
  const of = info.actions.get('send');
  const given = (name: string) =>
    numberOf(action?.action?.params?.find(({ paramId }) => paramId === of?.params.get(name)?.id)?.value);
  return { split: keyed('split'), flow_id: keyed('flow_id'), mac: given('mac'), port: given('port') };
}

function entryOf({ mac, port, ...key }: NewFlow, idle_timeout_s: number, info: P4Info): TableEntry {
  const bits = { split: 32, flow_id: 16, ip_src: 32, ip_dst: 32, ip_proto: 8 };
  const whole = (name: keyof typeof bits) => ({ value: key[name], mask: (1n << BigInt(bits[name])) - 1n });
  const fields = Object.fromEntries(Object.keys(bits).map((name) => [name, whole(name as keyof typeof bits)]));
  const entry = tableEntry({ table: 'keep', priority: 0, key: fields, action: 'send', params: { mac, port } }, info);
  return { ...entry, idleTimeoutNs: String(BigInt(idle_timeout_s) * 1_000_000_000n) };
}

function flowOf(members: readonly { readonly bitstring?: Buffer }[]): NewFlow | null {
  if (members.length !== MEMBERS.length) return null;
  return Object.fromEntries(MEMBERS.map((name, i) => [name, numberOf(members[i]!.bitstring)])) as unknown as NewFlow;
}

const identified = ({ tableId, match }: TableEntry): TableEntry => ({ tableId, ...(match ? { match } : {}) });
const numberOf = (bytes: Buffer | undefined) => (bytes && bytes.length > 0 ? BigInt(`0x${numberText(bytes)}`) : 0n);
const targetText = (mac: bigint, port: bigint | number) => `${mac} ${port}`;
const macText = (mac: bigint) =>
  mac
    .toString(16)
    .padStart(12, '0')
    .replace(/(..)(?!$)/g, '$1:');
