import { canonicalBytes, fieldBytes, numberText } from './bytes.js';
import type { FieldMatch, TableEntry } from './messages.js';
import type { P4Info, P4Table } from './p4-info.js';

/** Values under a mask, or from `lo` to `hi`; a field that is left out matches every value. */
export type KeyField = { readonly value: bigint; readonly mask: bigint } | { readonly lo: bigint; readonly hi: bigint };

/** An entry by names of the program. */
export interface NamedEntry {
  readonly table: string;
  /** The highest wins; 0 where the table has only exact or prefix matches. */
  readonly priority: number;
  readonly key: Readonly<Record<string, KeyField>>;
  readonly action: string;
  readonly params: Readonly<Record<string, bigint>>;
}

/** The message of an entry. Throws an error that names what the program does not have, or what a field cannot match. */
export function tableEntry(entry: NamedEntry, info: P4Info): TableEntry {
  const table = info.tables.get(entry.table);
  const action = info.actions.get(entry.action);
  if (!table) throw new Error(`the program has no table ${entry.table}`);
  if (!action) throw new Error(`the program has no action ${entry.action}`);
  for (const name of Object.keys(entry.key))
    if (!table.fields.some((field) => field.name === name)) throw new Error(`table ${entry.table} has no key ${name}`);
  const match = table.fields.flatMap((field): FieldMatch[] => {
    const one = entry.key[field.name];
    const found = one && fieldMatch(one, field);
    return found ? [{ fieldId: field.id, ...found }] : [];
  });
  const params = [...action.params.values()].map(({ id, name }) => {
    const value = entry.params[name];
    if (value === undefined) throw new Error(`action ${entry.action} needs ${name}`);
    return { paramId: id, value: canonicalBytes(value) };
  });
  return {
    tableId: table.id,
    match,
    action: { action: { actionId: action.id, params } },
    ...(entry.priority > 0 ? { priority: entry.priority } : {}),
  };
}

function fieldMatch(
  one: KeyField,
  { name, bitwidth, matchType }: P4Table['fields'][number],
): Omit<FieldMatch, 'fieldId'> | null {
  const whole = (1n << BigInt(bitwidth)) - 1n;
  switch (matchType) {
    case 'EXACT':
      if (!('mask' in one) || one.mask !== whole) break;
      return { exact: { value: canonicalBytes(one.value) } };
    case 'TERNARY':
      if (!('mask' in one)) break;
      // A field that matches everything has to be left out (P4Runtime 1.4, 9.1.1).
      return one.mask === 0n
        ? null
        : { ternary: { value: canonicalBytes(one.value & one.mask), mask: canonicalBytes(one.mask) } };
    case 'RANGE': {
      if ('mask' in one && one.mask !== whole) break;
      const { lo, hi } = 'mask' in one ? { lo: one.value, hi: one.value } : one;
      return lo === 0n && hi === whole
        ? null
        : { range: { low: fieldBytes(lo, bitwidth), high: fieldBytes(hi, bitwidth) } };
    }
  }
  throw new Error(`key ${name} has ${matchType.toLowerCase()} matches`);
}

/** An entry as a switch returns it in the form in which it is written: some return fields that match every value. */
export function asWritten(entry: TableEntry, info: P4Info): TableEntry {
  const fields = info.tableById(entry.tableId)?.fields ?? [];
  const match = entry.match?.flatMap((one): FieldMatch[] => {
    const { fieldId, ternary, range } = one;
    if (ternary) return numberText(ternary.mask) === '0' ? [] : [one];
    if (!range) return [one];
    const bitwidth = fields.find(({ id }) => id === fieldId)?.bitwidth ?? 0;
    const [lo, hi] = [range.low, range.high].map((bytes) => BigInt(`0x${numberText(bytes)}`)) as [bigint, bigint];
    if (lo === 0n && hi === (1n << BigInt(bitwidth)) - 1n) return [];
    return [{ fieldId, range: { low: fieldBytes(lo, bitwidth), high: fieldBytes(hi, bitwidth) } }];
  });
  return { ...entry, ...(match && { match }) };
}

/** The same for entries that match the same packets at the same priority in the same table: a switch holds one of them. */
export function identityOf({ tableId, match = [], priority = 0 }: TableEntry): string {
  const fields = match.map(({ fieldId, exact, ternary, range, lpm, optional }) => {
    const values = [exact?.value, ternary?.value, ternary?.mask, range?.low, range?.high, lpm?.value, optional?.value];
    const length = lpm ? `/${lpm.prefixLen ?? 0}` : '';
    return `${fieldId}:${values.map((value) => (value ? numberText(value) : '')).join('/')}${length}`;
  });
  return `${tableId} ${priority} ${fields.sort().join(' ')}`;
}

/** The same for entries that do the same. */
export function contentOf({ action }: TableEntry): string {
  const { actionId, params = [] } = action?.action ?? { actionId: 0 };
  const values = params.map(({ paramId, value }) => `${paramId}=${numberText(value)}`);
  return `${actionId} ${values.sort().join(' ')}`;
}
