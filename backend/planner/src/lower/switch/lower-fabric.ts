import type { Constraint, FabricRule, Infrastructure, SwitchAbilities, SwitchSpec } from '@orrery/contract';
import { SWITCH_TABLES } from '@orrery/contract';
import { type Budget, requireTime } from '../../budget.js';
import { linkedSlots } from '../../slot-links.js';
import { ASSUMED_ABILITIES } from './abilities.js';
import { availableEntries } from './available-entries.js';
import { cutOff } from './cut-off.js';
import { Inability, Shortage } from './match.js';
import { ownProgramsBefore } from './own-programs.js';
import { MOST_ENTRIES_A_RULE, SwitchContent } from './switch-program.js';
import { switchPlaces } from './topology.js';

/** Abilities reported by switches, by id. */
export type AbilitiesOf = ReadonlyMap<string, SwitchAbilities>;

/** Planned entries of one switch, and its capacity. */
export interface TableUse {
  readonly id: string;
  readonly entries: number;
  readonly available: number;
  /** Room that it needs: its entries, and those for flows that it keeps. */
  readonly needed: number;
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

/** The room that each switch gives already; a smaller limit, set later, leaves it that, as far as the switch itself can hold it. */
export type HeldRoom = ReadonlyMap<string, number>;

/** The room that rules take, at every switch. */
export function heldRoom({ tables }: Pick<LoweredFabric, 'tables'>): HeldRoom {
  return new Map(tables.map(({ id, needed }) => [id, needed]));
}

/**
 * The exact entries of every switch, for the rules and for forwarding between hosts. A hop or return to a removed server or slot has
 * none. Errors: `OutOfTime`.
 */
export function lowerFabric(
  infrastructure: Infrastructure,
  abilitiesOf: AbilitiesOf,
  rules: readonly FabricRule[],
  time: Pick<Budget, 'expired'> = {},
  held: HeldRoom = new Map(),
): LoweredFabric {
  const lowering = new FabricLowering(infrastructure, abilitiesOf);
  for (const rule of rules) {
    requireTime(time);
    lowering.add(rule);
  }
  return lowering.lowered(held);
}

/** As `lowerFabric`, rule by rule, so that who lowers thousands can do other things in between. */
export class FabricLowering {
  private readonly conflicts: Constraint[] = [];
  private readonly faults: string[] = [];
  private readonly programs: readonly SwitchContent[];
  private readonly known: ReturnType<typeof namesOf>;

  constructor(
    private readonly infrastructure: Infrastructure,
    private readonly abilitiesOf: AbilitiesOf,
  ) {
    this.programs = switchPlaces(infrastructure).map((place) => new SwitchContent(place, this.abilities(place.id)));
    this.known = namesOf(infrastructure);
    for (const { place } of this.programs) {
      if (this.abilities(place.id).match['eth.src']) continue;
      this.lack(
        { constraint: 'switch-ability', needed: 1, available: 0, unit: 'abilities', where: place.id },
        `${place.id} cannot match eth.src, which keeps hosts from sending in the name of others`,
      );
    }
  }

  add(rule: FabricRule): void {
    const unknown = unknownName(rule, this.known);
    if (unknown && rule.kind !== 'classify') return;
    if (unknown) {
      this.lack(
        { constraint: 'switch-ability', needed: 1, available: 0, unit: 'nodes', where: unknown },
        `${rule.id}: there is no ${unknown}`,
      );
      return;
    }
    const own = ownProgramsBefore(rule, this.infrastructure);
    for (const { id, program, carries } of own)
      this.lack(
        { constraint: 'switch-program', needed: 1, available: 0, unit: 'switches', where: id },
        `${id} runs the P4 program ${program} of its own, so it carries nothing for ${carries} (${rule.id})`,
      );
    for (const { at, target } of own.length > 0 ? [] : cutOff(rule, this.infrastructure))
      this.lack(
        { constraint: 'switch-path', needed: 1, available: 0, unit: 'ways', where: at },
        `no way leads from ${at} to ${target} (${rule.id})`,
      );
    for (const program of this.programs) this.addAt(program, rule);
  }

  /** All that was added. `held`: see `HeldRoom`. */
  lowered(held: HeldRoom = new Map()): LoweredFabric {
    const conflicts = [...this.conflicts];
    const faults = [...this.faults];
    const tables = this.programs.map(({ place, size, reserved }) => ({
      id: place.id,
      entries: size,
      needed: size + reserved,
      available: availableEntries(place.table_entries, this.abilities(place.id).entries),
    }));
    for (const { place, spec, reserved } of this.programs) {
      for (const { needed, available, what } of overfull(
        spec.entries,
        reserved + (spec.exceptions?.length ?? 0),
        Math.max(place.table_entries, held.get(place.id) ?? 0),
        this.abilities(place.id),
      )) {
        conflicts.push({ constraint: 'switch-table', needed, available, unit: 'entries', where: place.id });
        faults.push(`${place.id} needs ${needed} entries${what} and has ${available}`);
      }
    }
    return { switches: new Map(this.programs.map(({ place, spec }) => [place.id, spec])), tables, conflicts, faults };
  }

  private addAt(program: SwitchContent, rule: FabricRule): void {
    const { id, table_entries } = program.place;
    try {
      program.add(rule);
    } catch (error) {
      if (error instanceof Shortage) {
        const left = availableEntries(table_entries, this.abilities(id).entries) - program.size;
        const available = Math.min(left, MOST_ENTRIES_A_RULE);
        this.lack(
          { constraint: 'switch-table', needed: error.needed, available, unit: 'entries', where: id },
          `${id}: ${rule.id} needs ${error.needed} entries`,
        );
      } else if (error instanceof Inability) {
        this.lack(
          { constraint: 'switch-ability', needed: 1, available: 0, unit: 'abilities', where: id },
          `${id} cannot ${error.message} (${rule.id})`,
        );
      } else throw error;
    }
  }

  private abilities(id: string): SwitchAbilities {
    return this.abilitiesOf.get(id) ?? ASSUMED_ABILITIES;
  }

  private lack(conflict: Constraint, words: string): void {
    this.conflicts.push(conflict);
    this.faults.push(words);
  }
}

/** Switches with entries of any of the rules. Of those known to have some no more rules are lowered: there may be thousands. */
export function switchesWith(
  infrastructure: Infrastructure,
  abilitiesOf: AbilitiesOf,
  rules: readonly FabricRule[],
): Set<string> {
  const known = namesOf(infrastructure);
  const places = switchPlaces(infrastructure).filter((place) => {
    const content = new SwitchContent(place, abilitiesOf.get(place.id) ?? ASSUMED_ABILITIES);
    return rules.some((rule) => unknownName(rule, known) === null && hasEntries(content, rule));
  });
  return new Set(places.map(({ id }) => id));
}

function hasEntries(content: SwitchContent, rule: FabricRule): boolean {
  try {
    return content.add(rule) > 0;
  } catch (error) {
    if (error instanceof Shortage || error instanceof Inability) return false;
    throw error;
  }
}

function overfull(entries: SwitchSpec['entries'], reserved: number, configured: number, abilities: SwitchAbilities) {
  const limits = [
    {
      needed: entries.length + reserved,
      available: availableEntries(configured, abilities.entries),
      what: reserved > 0 ? `, ${reserved} of them for flows that it keeps,` : '',
    },
    ...SWITCH_TABLES.map((name) => ({
      needed: entries.filter(({ table }) => table === name).length + (name === 'keep' ? reserved : 0),
      available: abilities.table_entries[name] ?? Number.POSITIVE_INFINITY,
      what: ` in table ${name}`,
    })),
  ];
  return limits.filter(({ needed, available }) => needed > available);
}

function namesOf(infrastructure: Infrastructure) {
  const { hosts, servers } = infrastructure;
  return {
    host: new Set(hosts.map(({ id }) => id)),
    server: new Set([...servers.map(({ id }) => id), ...linkedSlots(infrastructure).keys()]),
  };
}

function unknownName({ from_hosts, targets }: FabricRule, known: ReturnType<typeof namesOf>): string | null {
  const host = from_hosts.find((id) => !known.host.has(id));
  const server = targets.find((target) => !known.server.has(target.server))?.server;
  return host ?? server ?? null;
}
