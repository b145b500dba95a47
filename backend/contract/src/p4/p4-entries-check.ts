import type { FieldError } from '../common.js';
import { pointerOf } from '../field-errors.js';
import type { P4DefaultAction, P4Entries, P4Entry } from './p4-entries.js';
import { namedP4, type P4Action, type P4Content, type P4Field, type P4Table } from './p4-program.js';
import { type P4Match, p4Match, p4Value } from './p4-values.js';

/** Width of a port number in v1model. */
const PORT_BITS = 9;
const PORT_NAME = /^[a-z][a-z0-9-]*$/;

/** Whether a value of so many bits is the name of a port. */
export const isPortName = (text: string, bits: number): boolean => bits === PORT_BITS && PORT_NAME.test(text.trim());

export const needsPriority = ({ fields }: P4Table): boolean =>
  fields.some(({ match }) => match === 'ternary' || match === 'range' || match === 'optional');

/** Ports of a switch by name, with their numbers; null: not known. */
export type P4Ports = ReadonlyMap<string, number | null>;

/** What is wrong with entries for a program at a switch with these ports; each error names the field. */
export function p4EntriesErrors(
  { entries, default_actions, groups }: P4Entries,
  content: P4Content,
  ports: P4Ports,
): FieldError[] {
  const check = new Check(content, ports);
  for (const [at, entry] of entries.entries()) check.entry(entry, ['entries', at]);
  const used = new Map<string, number>();
  for (const { table } of entries) {
    const name = namedP4(content.tables, table)?.name;
    if (name !== undefined) used.set(name, (used.get(name) ?? 0) + 1);
  }
  for (const { name, size } of content.tables)
    if (size > 0 && (used.get(name) ?? 0) > size)
      check.report(['entries'], `table ${name} has room for ${size} entries, not for ${used.get(name)}`, 'too-many');
  for (const [at, one] of default_actions.entries()) {
    check.defaultAction(one, ['default_actions', at]);
    if (default_actions.findIndex(({ table }) => sameTable(content, table, one.table)) !== at)
      check.report(['default_actions', at, 'table'], 'has two default actions', 'duplicate');
  }
  for (const [at, { id, ports: members }] of groups.entries()) {
    if (groups.findIndex((one) => one.id === id) !== at)
      check.report(['groups', at, 'id'], 'is used twice', 'duplicate-id');
    for (const [i, port] of members.entries()) {
      if (!ports.has(port)) check.report(['groups', at, 'ports', i], `the switch has no port ${port}`, 'unknown-port');
      if (members.indexOf(port) !== i) check.report(['groups', at, 'ports', i], 'is in the group twice', 'duplicate');
    }
  }
  return check.errors;
}

const sameTable = (content: P4Content, a: string, b: string) =>
  namedP4(content.tables, a)?.name === namedP4(content.tables, b)?.name;

class Check {
  readonly errors: FieldError[] = [];
  /** The first entry that matches it, by what it matches. */
  private readonly seen = new Map<string, { at: number; entry: P4Entry }>();

  constructor(
    private readonly content: P4Content,
    private readonly ports: P4Ports,
  ) {}

  report(path: readonly PropertyKey[], detail: string, code: string): void {
    this.errors.push({ pointer: pointerOf(path), detail, code });
  }

  entry(entry: P4Entry, path: readonly PropertyKey[]): void {
    const table = this.table(entry.table, path);
    if (!table) return;
    const refusal = table.constant
      ? 'its entries are of the program'
      : table.profile
        ? 'has an action profile: only a P4Runtime client fills it'
        : null;
    if (refusal !== null) {
      this.report([...path, 'table'], refusal, 'not-writable');
      return;
    }
    const matches = this.matches(entry, table, path);
    if (needsPriority(table) && entry.priority === undefined)
      this.report([...path, 'priority'], 'is needed: a key has ternary, range or optional matches', 'missing');
    if (!needsPriority(table) && entry.priority !== undefined)
      this.report([...path, 'priority'], 'has no meaning: every key has exact or prefix matches', 'unexpected');
    this.call(entry, table, 'entries', path);
    if (!matches) return;
    const key = [table.name, entry.priority ?? 0, ...matches].join(' ');
    const first = this.seen.get(key);
    if (!first) this.seen.set(key, { at: Number(path.at(-1)), entry });
    else {
      const detail = `matches the same packets as entry ${first.at}${this.samePorts(entry, first.entry, table)}`;
      this.report([...path, 'match'], detail, 'duplicate');
    }
  }

  defaultAction(one: P4DefaultAction, path: readonly PropertyKey[]): void {
    const table = this.table(one.table, path);
    if (!table) return;
    if (table.constant_default) this.report([...path, 'table'], 'its default action is of the program', 'not-writable');
    else this.call(one, table, 'default', path);
  }

  private table(name: string, path: readonly PropertyKey[]): P4Table | undefined {
    const table = namedP4(this.content.tables, name);
    const all = this.content.tables.map((one) => one.name).join(', ');
    if (!table) this.report([...path, 'table'], `the program has no table ${name}; it has ${all}`, 'unknown-table');
    return table;
  }

  /** Text of each match, the same for the same values; null: one is wrong. */
  private matches({ match }: P4Entry, { name, fields }: P4Table, path: readonly PropertyKey[]): string[] | null {
    const before = this.errors.length;
    for (const key of Object.keys(match))
      if (!fields.some((field) => field.name === key))
        this.report([...path, 'match', key], `table ${name} has no such key`, 'unknown-key');
    const texts = fields.map((field) => {
      const text = match[field.name];
      if (text === undefined) {
        if (field.match === 'exact')
          this.report([...path, 'match', field.name], 'is needed: it has exact matches', 'missing');
        return '*';
      }
      const read = this.value([...path, 'match', field.name], text, field.bits, () => matchText(matchOf(text, field)));
      const number = this.numberOf(text, field);
      return number === null ? read : matchText(matchOf(String(number), field));
    });
    return this.errors.length === before ? texts : null;
  }

  /** Null: it names no port, or none whose number is known. */
  private numberOf(text: string, { bits }: P4Field): number | null {
    return isPortName(text, bits) ? (this.ports.get(text.trim()) ?? null) : null;
  }

  /** Which ports two entries of the same packets name differently, in words. */
  private samePorts(a: P4Entry, b: P4Entry, { fields }: P4Table): string {
    const said = fields.flatMap((field) => {
      const texts = [a, b].map(({ match }) => match[field.name]?.trim() ?? '*');
      const named = texts.find((text) => this.numberOf(text, field) !== null);
      if (named === undefined || texts[0] === texts[1]) return [];
      return [`: port ${named} has the number ${this.numberOf(named, field)}`];
    });
    return said.join('');
  }

  private call(
    { action: name, params }: Pick<P4Entry, 'action' | 'params'>,
    table: P4Table,
    of: 'entries' | 'default',
    path: readonly PropertyKey[],
  ): void {
    const usable = table.actions.filter((one) => one.of === 'both' || one.of === of);
    const named = namedP4(usable, name);
    const action = named && this.content.actions.find((one) => one.name === named.name);
    if (!action) {
      const all = usable.map((one) => one.name).join(', ') || 'none';
      this.report([...path, 'action'], `table ${table.name} takes ${all}`, 'unknown-action');
    } else this.params(action, params, [...path, 'params']);
  }

  private params({ name, params }: P4Action, given: P4Entry['params'], path: readonly PropertyKey[]): void {
    for (const key of Object.keys(given))
      if (!params.some((param) => param.name === key))
        this.report([...path, key], `action ${name} has no such parameter`, 'unknown-parameter');
    for (const param of params) {
      const text = given[param.name];
      if (text === undefined) this.report([...path, param.name], `action ${name} needs it`, 'missing');
      else this.value([...path, param.name], text, param.bits, () => String(p4Value(text, param.bits)));
    }
  }

  private value(path: readonly PropertyKey[], text: string, bits: number, read: () => string): string {
    if (isPortName(text, bits)) {
      if (!this.ports.has(text.trim())) this.report(path, `the switch has no port ${text.trim()}`, 'unknown-port');
      return text.trim();
    }
    try {
      return read();
    } catch (error) {
      this.report(path, (error as Error).message, 'bad-value');
      return '';
    }
  }
}

/** Throws an error that says what is wrong. Null: every value. */
export const matchOf = (text: string, { match, bits }: P4Field): P4Match | null => p4Match(text, match, bits);

function matchText(match: P4Match | null): string {
  if (match === null) return '*';
  return 'lo' in match ? `${match.lo}..${match.hi}` : `${match.value}&${match.mask}`;
}
