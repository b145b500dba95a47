import {
  isPortName,
  matchOf,
  namedP4,
  type P4DefaultAction,
  type P4Entry,
  type P4Field,
  type P4Match,
  p4MatchText,
  p4Value,
  p4ValueText,
  prefixLength,
} from '@orrery/contract';
import { canonicalBytes, fieldBytes, numberText } from '../p4runtime/bytes.js';
import type { Action, FieldMatch, TableEntry } from '../p4runtime/messages.js';
import { actionOf, type OwnProgram, tableOf } from './own-program.js';

/** Numbers of ports by name. */
type PortNumbers = ReadonlyMap<string, number>;

/** By what a switch tells entries of Orrery from those of others. */
export const MARK = Buffer.from('orrery');

/** An entry names a port without a number. */
export class NoPort extends Error {
  constructor(port: string) {
    super(`names port ${port}, which the switch does not have`);
  }
}

/** The message of an entry. Throws an error that names what is wrong. */
export function ownEntry(entry: P4Entry, program: OwnProgram, ports: PortNumbers): TableEntry {
  const table = namedP4(program.content.tables, entry.table);
  if (!table) throw new Error(`the program has no table ${entry.table}`);
  const match: FieldMatch[] = [];
  for (const field of table.fields) {
    const text = entry.match[field.name];
    if (text === undefined) continue;
    const values = isPortName(text, field.bits) ? ofPort(text, field, ports) : matchOf(text, field);
    const found = values && fieldMatch(values, field);
    if (found) match.push({ fieldId: field.id, ...found });
  }
  const action = ownAction(entry, program, ports);
  const priority = entry.priority === undefined ? {} : { priority: entry.priority };
  return { tableId: table.id, match, action: { action }, ...priority, metadata: MARK };
}

export function ownDefault(one: P4DefaultAction, program: OwnProgram, ports: PortNumbers): TableEntry {
  const table = namedP4(program.content.tables, one.table);
  if (!table) throw new Error(`the program has no table ${one.table}`);
  return { tableId: table.id, isDefaultAction: true, action: { action: ownAction(one, program, ports) } };
}

function ownAction({ action: name, params }: P4DefaultAction, { content }: OwnProgram, ports: PortNumbers): Action {
  const action = namedP4(content.actions, name);
  if (!action) throw new Error(`the program has no action ${name}`);
  const values = action.params.map(({ id, name: param, bits }) => {
    const text = params[param];
    if (text === undefined) throw new Error(`action ${name} needs ${param}`);
    const value = isPortName(text, bits) ? numberOfPort(text, ports) : p4Value(text, bits);
    return { paramId: id, value: canonicalBytes(value) };
  });
  return { actionId: action.id, params: values };
}

const ofPort = (text: string, { bits }: P4Field, ports: PortNumbers): P4Match => ({
  value: BigInt(numberOfPort(text, ports)),
  mask: (1n << BigInt(bits)) - 1n,
});

function numberOfPort(text: string, ports: PortNumbers): number {
  const number = ports.get(text.trim());
  if (number === undefined) throw new NoPort(text.trim());
  return number;
}

/** Null: every value, which is left out (P4Runtime 1.4, 9.1.1). */
function fieldMatch(values: P4Match, { match, bits }: P4Field): Omit<FieldMatch, 'fieldId'> | null {
  if (match === 'range') {
    const { lo, hi } = 'lo' in values ? values : { lo: values.value, hi: values.value };
    return { range: { low: fieldBytes(lo, bits), high: fieldBytes(hi, bits) } };
  }
  if ('lo' in values) throw new Error(`a key with ${match} matches takes no range`);
  const value = canonicalBytes(values.value);
  switch (match) {
    case 'exact':
      return { exact: { value } };
    case 'optional':
      return { optional: { value } };
    case 'lpm':
      return { lpm: { value, prefixLen: prefixLength(values.mask, bits)! } };
    case 'ternary':
      return { ternary: { value, mask: canonicalBytes(values.mask) } };
  }
}

/** An entry as people write it. Null: of a table or an action that the program does not have. */
export function entryText(
  { tableId, match = [], action, priority = 0 }: TableEntry,
  program: OwnProgram,
): P4Entry | null {
  const table = tableOf(program, tableId);
  const done = actionText(action?.action, program);
  if (!table || !done) return null;
  const texts = table.fields.flatMap((field) => {
    const found = match.find(({ fieldId }) => fieldId === field.id);
    return found ? [[field.name, p4MatchText(valuesOf(found, field), field.match, field.bits, field.name)]] : [];
  });
  return { table: table.name, match: Object.fromEntries(texts), ...(priority > 0 ? { priority } : {}), ...done };
}

export function actionText(action: Action | undefined, program: OwnProgram): Pick<P4Entry, 'action' | 'params'> | null {
  const named = action && actionOf(program, action.actionId);
  if (!named) return null;
  const params = named.params.map(({ id, name, bits }) => {
    const value = action.params?.find(({ paramId }) => paramId === id)?.value;
    return [name, p4ValueText(value ? numberOf(value) : 0n, bits, name)];
  });
  return { action: named.name, params: Object.fromEntries(params) };
}

function valuesOf({ exact, optional, lpm, ternary, range }: FieldMatch, { bits }: P4Field): P4Match {
  const whole = (1n << BigInt(bits)) - 1n;
  if (range) return { lo: numberOf(range.low), hi: numberOf(range.high) };
  if (ternary) return { value: numberOf(ternary.value), mask: numberOf(ternary.mask) };
  if (lpm) return { value: numberOf(lpm.value), mask: whole ^ (whole >> BigInt(lpm.prefixLen ?? 0)) };
  const value = exact?.value ?? optional?.value;
  return { value: value ? numberOf(value) : 0n, mask: whole };
}

const numberOf = (bytes: Buffer) => BigInt(`0x${numberText(bytes) || '0'}`);
