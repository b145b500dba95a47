import type { Constraint, FabricRule, Infrastructure, SwitchAbilities, SwitchSpec } from '@orrery/contract';
import { SWITCH_TABLES } from '@orrery/contract';
import { ASSUMED_ABILITIES } from './abilities.js';
import { availableEntries } from './available-entries.js';
import { Inability, Shortage } from './match.js';
import { SwitchProgram } from './switch-program.js';
import { switchPlaces } from './topology.js';

/** Abilities reported by switches, by id. */
export type AbilitiesOf = ReadonlyMap<string, SwitchAbilities>;

/** Planned entries of one switch, and its capacity. */
export interface TableUse {
  readonly id: string;
  readonly entries: number;
  readonly available: number;
}

export interface LoweredFabric {
  /** By switch, in the order of the infrastructure. */
  readonly switches: ReadonlyMap<string, Omit<SwitchSpec, 'generation'>>;
  readonly tables: readonly TableUse[];
  /** What exceeds the capacity or abilities of switches; missing from the specifications. */
  readonly conflicts: readonly Constraint[];
  /** In words, for each conflict. */
  readonly faults: readonly string[];
}

/**
 * The exact entries of every switch, for the rules and for forwarding between hosts. A hop or return to a removed server has
 * none.
 */
export function lowerFabric(
  infrastructure: Infrastructure,
  abilitiesOf: AbilitiesOf,
  rules: readonly FabricRule[],
): LoweredFabric {
  const conflicts: Constraint[] = [];
  const faults: string[] = [];
  const abilities = (id: string) => abilitiesOf.get(id) ?? ASSUMED_ABILITIES;
  const programs = switchPlaces(infrastructure).map((place) => new SwitchProgram(place, abilities(place.id)));
  const lack = (conflict: Constraint, words: string) => {
    conflicts.push(conflict);
    faults.push(words);
  };
  for (const rule of rules) {
    const unknown = unknownName(rule, infrastructure);
    if (unknown && rule.kind !== 'classify') continue;
    if (unknown) {
      lack(
        { constraint: 'switch-ability', needed: 1, available: 0, unit: 'nodes', where: unknown },
        `${rule.id}: there is no ${unknown}`,
      );
      continue;
    }
    for (const program of programs) {
      const { id } = program.place;
      try {
        program.add(rule);
      } catch (error) {
        if (error instanceof Shortage) {
          const available = availableEntries(program.place.table_entries, abilities(id).entries) - program.size;
          lack(
            { constraint: 'switch-table', needed: error.needed, available, unit: 'entries', where: id },
            `${id}: ${rule.id} needs ${error.needed} entries`,
          );
        } else if (error instanceof Inability) {
          lack(
            { constraint: 'switch-ability', needed: 1, available: 0, unit: 'abilities', where: id },
            `${id} cannot ${error.message} (${rule.id})`,
          );
        } else throw error;
      }
    }
  }
  const tables = programs.map(({ place, size }) => ({
    id: place.id,
    entries: size,
    available: availableEntries(place.table_entries, abilities(place.id).entries),
  }));
  for (const { place, spec } of programs) {
    for (const { needed, available, what } of overfull(spec.entries, place.table_entries, abilities(place.id)))
      lack(
        { constraint: 'switch-table', needed, available, unit: 'entries', where: place.id },
        `${place.id} needs ${needed} entries${what} and has ${available}`,
      );
  }
  return { switches: new Map(programs.map(({ place, spec }) => [place.id, spec])), tables, conflicts, faults };
}

function overfull(entries: SwitchSpec['entries'], configured: number, abilities: SwitchAbilities) {
  const limits = [
    { needed: entries.length, available: availableEntries(configured, abilities.entries), what: '' },
    ...SWITCH_TABLES.map((name) => ({
      needed: entries.filter(({ table }) => table === name).length,
      available: abilities.table_entries[name] ?? Number.POSITIVE_INFINITY,
      what: ` in table ${name}`,
    })),
  ];
  return limits.filter(({ needed, available }) => needed > available);
}

function unknownName({ from_hosts, targets }: FabricRule, { hosts, servers }: Infrastructure): string | null {
  const known = { host: new Set(hosts.map(({ id }) => id)), server: new Set(servers.map(({ id }) => id)) };
  const host = from_hosts.find((id) => !known.host.has(id));
  const server = targets.find((target) => !known.server.has(target.server))?.server;
  return host ?? server ?? null;
}
