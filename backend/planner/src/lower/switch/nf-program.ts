import {
  type EntryAction,
  type FabricRule,
  NF_TABLES,
  type NfOnSwitch,
  SWITCH_REFUSALS,
  type SwitchAbilities,
  type SwitchEntry,
  type SwitchMeter,
  switchInstanceId,
} from '@orrery/contract';
import { ETHERTYPE, exactly, type Fields, filterMatches, Inability, Shortage } from './match.js';

type Nfs = NonNullable<Extract<FabricRule, { kind: 'classify' }>['nfs']>;

/** Highest priority of an entry. */
const TOP = 65_535;

/** What one switch holds of the NFs of a class, beside the entry that sends packets there. */
export interface NfEntries {
  readonly entries: SwitchEntry[];
  readonly meters: SwitchMeter[];
}

interface NfSurroundings {
  /** The switch. */
  readonly place: string;
  readonly abilities: SwitchAbilities;
  readonly most: number;
  /** The same for the same content, so that what else changes leaves the tokens of a meter alone, but for the rare collision. */
  readonly meterNumber: (content: string) => number;
}

/**
 * The NFs of a class one after the other, each in a table of its own, and at the end `onward`. Every packet meets one entry of
 * each NF, unless one before dropped it. Throws an Inability, or a Shortage when there are more than `most`.
 */
export function nfEntries(
  { id, nfs }: { readonly id: string; readonly nfs: Nfs },
  number: number,
  onward: readonly EntryAction[],
  { place, abilities, most, meterNumber }: NfSurroundings,
): NfEntries {
  if (!abilities.match.nfs) throw new Inability('run NFs');
  const own = { ...exactly('eth.type', ETHERTYPE.ipv4), ...exactly('nfs', number) };
  const meters: SwitchMeter[] = [];
  const entries: SwitchEntry[] = [
    { table: 'onward', priority: 1, rule_id: id, match: { fields: own }, actions: [...onward] },
  ];
  for (const [stage, { nf, runs }] of nfs.entries()) {
    const table = NF_TABLES[stage]!;
    const next: EntryAction = { do: 'next-table', table: stage + 1 < nfs.length ? NF_TABLES[stage + 1]! : 'onward' };
    const instance_id = switchInstanceId(nf, place);
    const entry = (priority: number, fields: Fields, actions: EntryAction[], drops?: string): SwitchEntry => ({
      table,
      priority,
      rule_id: id,
      match: { fields: { ...own, ...fields } },
      actions,
      nf: { instance_id, ...(drops === undefined ? {} : { drops }) },
    });
    switch (runs.program) {
      case 'count':
        entries.push(entry(1, {}, [next]));
        break;
      case 'limit': {
        if (!abilities.meters) throw new Inability('meter');
        const meter = {
          id: meterNumber(JSON.stringify([nf, runs])),
          rate_kbps: runs.rate_kbps,
          burst_bytes: runs.burst_bytes,
        };
        meters.push(meter);
        entries.push(entry(1, {}, [{ do: 'meter', meter: meter.id }, next], SWITCH_REFUSALS.limit));
        break;
      }
      case 'filter':
        for (const { priority, fields, allow } of filterEntries(runs, abilities, most - entries.length)) {
          entries.push(
            allow ? entry(priority, fields, [next]) : entry(priority, fields, [{ do: 'drop' }], SWITCH_REFUSALS.filter),
          );
        }
    }
    if (entries.length > most) throw new Shortage(entries.length);
  }
  return { entries, meters };
}

interface Judged {
  readonly priority: number;
  readonly fields: Fields;
  readonly allow: boolean;
}

/**
 * The rules from the top, each with the packets that it holds for; what no rule holds for at last. Throws an Inability, or a
 * Shortage when there are more than `most`, which are not made then.
 */
function filterEntries(
  { rules, allow }: Extract<NfOnSwitch, { program: 'filter' }>,
  abilities: SwitchAbilities,
  most: number,
): Judged[] {
  const expanded = rules.map((rule) => ({ allow: rule.allow, ...filterMatches(rule.match, abilities) }));
  const needed = expanded.reduce((sum, { count }) => sum + count, 1);
  if (needed > most) throw new Shortage(needed);
  const judged = expanded.flatMap((rule, i) =>
    rule.matches().map((fields): Judged => ({ priority: TOP - i, fields, allow: rule.allow })),
  );
  return [...judged, { priority: 1, fields: {}, allow }];
}

/** How many entries the NF is in the tables of a switch, however many they have room for. Throws an Inability. */
export function nfEntryCount(runs: NfOnSwitch, abilities: SwitchAbilities): number {
  if (!abilities.match.nfs) throw new Inability('run NFs');
  switch (runs.program) {
    case 'count':
      return 1;
    case 'limit':
      if (!abilities.meters) throw new Inability('meter');
      return 1;
    case 'filter':
      return runs.rules.reduce((sum, { match }) => sum + filterMatches(match, abilities).count, 1);
  }
}
