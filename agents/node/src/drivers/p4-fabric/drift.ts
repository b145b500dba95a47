import type { Entity, MulticastGroup, TableEntry } from '../p4runtime/messages.js';
import type { P4Info } from '../p4runtime/p4-info.js';
import { asWritten, contentOf, identityOf } from '../p4runtime/table-entries.js';
import type { SwitchReading } from '../switch-driver.js';

/** Entries of a switch by identity, and groups by number. */
export interface Held {
  readonly entries: ReadonlyMap<string, TableEntry>;
  readonly groups: ReadonlyMap<number, MulticastGroup>;
  /** Of flows in progress, by identity. */
  readonly kept: ReadonlyMap<string, TableEntry>;
}

/** Default actions are of the program. */
export function heldBy(entities: readonly Entity[], info: P4Info): Held {
  const entries = new Map<string, TableEntry>();
  const groups = new Map<number, MulticastGroup>();
  const kept = new Map<string, TableEntry>();
  const keep = info.tables.get('keep')?.id;
  for (const { tableEntry, packetReplicationEngineEntry } of entities) {
    const group = packetReplicationEngineEntry?.multicastGroupEntry;
    if (tableEntry && !tableEntry.isDefaultAction) {
      const entry = asWritten(tableEntry, info);
      (entry.tableId === keep ? kept : entries).set(identityOf(entry), entry);
    }
    if (group) groups.set(group.multicastGroupId, normal(group));
  }
  return { entries, groups, kept };
}

function normal({ multicastGroupId, replicas = [] }: MulticastGroup): MulticastGroup {
  const plain = replicas.map(({ egressPort, instance }) => ({ egressPort, instance }));
  return { multicastGroupId, replicas: plain.sort((a, b) => a.instance - b.instance) };
}

/** What others have changed between the two. `ruleOf` an identity: null of forwarding, undefined of a group. */
export function driftOf(
  before: Held,
  now: Held,
  ruleOf: (identity: string) => string | null | undefined,
): Pick<SwitchReading, 'drift' | 'drifted_rules'> {
  const gone = [...before.entries.keys()].filter((identity) => !now.entries.has(identity));
  const changed = [...before.entries].flatMap(([identity, entry]) => {
    const found = now.entries.get(identity);
    return found && contentOf(found) !== contentOf(entry) ? [identity] : [];
  });
  const added = [...now.entries.keys()].filter((identity) => !before.entries.has(identity)).length;
  const groups = new Set([...before.groups.keys(), ...now.groups.keys()]);
  const text = (held: Held, id: number) => JSON.stringify(held.groups.get(id));
  const changedGroups = [...groups].filter((id) => text(before, id) !== text(now, id)).length;
  const named = (identities: readonly string[]) => {
    const names = new Set(identities.map((identity) => ruleOf(identity) ?? 'forwarding'));
    return [...names].slice(0, 5).join(', ');
  };
  const rules = [...gone, ...changed].map(ruleOf).filter((rule) => typeof rule === 'string');
  return {
    drift: [
      ...(gone.length > 0 ? [`${gone.length} entries were deleted (${named(gone)})`] : []),
      ...(changed.length > 0 ? [`${changed.length} entries were changed (${named(changed)})`] : []),
      ...(added > 0 ? [`${added} entries were added`] : []),
      ...(changedGroups > 0 ? [`${changedGroups} groups were changed`] : []),
    ],
    drifted_rules: [...new Set(rules)],
  };
}
