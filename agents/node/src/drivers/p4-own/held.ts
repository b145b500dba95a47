import { numberText } from '../p4runtime/bytes.js';
import type { Entity, FieldMatch, MulticastGroup, TableEntry } from '../p4runtime/messages.js';
import { identityOf } from '../p4runtime/table-entries.js';
import { type OwnProgram, tableOf } from './own-program.js';

/** Entries of a switch by identity, default actions by table, groups by number. */
export interface Held {
  readonly entries: ReadonlyMap<string, TableEntry>;
  readonly defaults: ReadonlyMap<number, TableEntry>;
  readonly groups: ReadonlyMap<number, MulticastGroup>;
}

export function heldOf(entities: readonly Entity[], program: OwnProgram): Held {
  const all = entities.flatMap(({ tableEntry }) => (tableEntry ? [tableEntry] : []));
  const entries = all
    .filter(({ isDefaultAction, tableId }) => !isDefaultAction && isWritable(tableId, program))
    .map((entry) => ({ ...entry, match: entry.match?.filter((one) => !matchesAll(one, entry, program)) ?? [] }));
  return {
    entries: new Map(entries.map((entry) => [identityOf(entry), entry])),
    defaults: entriesOf(all.filter(({ isDefaultAction }) => isDefaultAction)),
    groups: groupsOf(
      entities.map(({ packetReplicationEngineEntry }) => packetReplicationEngineEntry?.multicastGroupEntry ?? null),
    ),
  };
}

const isWritable = (tableId: number, program: OwnProgram) => {
  const table = tableOf(program, tableId);
  return table !== undefined && !table.constant && !table.profile;
};

/** simple_switch_grpc returns fields that match every value, which have to be left out where an entry is written. */
function matchesAll({ fieldId, ternary, range, lpm }: FieldMatch, { tableId }: TableEntry, program: OwnProgram) {
  if (ternary) return numberText(ternary.mask) === '0';
  if (lpm) return (lpm.prefixLen ?? 0) === 0;
  if (!range) return false;
  const bits = tableOf(program, tableId)?.fields.find(({ id }) => id === fieldId)?.bits ?? 0;
  const high = BigInt(`0x${numberText(range.high)}`);
  return numberText(range.low) === '0' && high === (1n << BigInt(bits)) - 1n;
}

export const entriesOf = (all: readonly TableEntry[]): ReadonlyMap<number, TableEntry> =>
  new Map(all.map((one) => [one.tableId, one]));

export function groupsOf(all: readonly (MulticastGroup | null)[]): ReadonlyMap<number, MulticastGroup> {
  return new Map(all.flatMap((one) => (one ? [[one.multicastGroupId, normal(one)] as const] : [])));
}

/** Ports without a number are left out. */
export function multicastGroup(
  id: number,
  members: readonly string[],
  ports: ReadonlyMap<string, number>,
): MulticastGroup {
  const numbers = members.flatMap((name) => ports.get(name) ?? []);
  return { multicastGroupId: id, replicas: numbers.map((egressPort) => ({ egressPort, instance: 1 })) };
}

function normal({ multicastGroupId, replicas = [] }: MulticastGroup): MulticastGroup {
  const plain = replicas.map(({ egressPort, instance }) => ({ egressPort, instance }));
  return {
    multicastGroupId,
    replicas: plain.sort((a, b) => a.egressPort - b.egressPort || a.instance - b.instance),
  };
}
