import { messages, number, preamble, textIn, wordIn } from './p4-info-fields.js';
import type { TextMessage } from './text-format.js';

export const ARRAY_KINDS = ['counter', 'meter', 'register'] as const;
export type ArrayKind = (typeof ARRAY_KINDS)[number];

/** Of a counter, a meter or a register of P4Info. */
export interface DeclaredArray {
  readonly name: string;
  readonly size: number;
}
export type DeclaredArrays = Readonly<Record<ArrayKind, readonly DeclaredArray[]>>;

/** Arrays that are not those of a table. Throws an error that names a register whose type neither P4 switch supports. */
export function declaredArrays(info: TextMessage): DeclaredArrays {
  const all = (kind: ArrayKind) => messages(info, `${kind}s`);
  for (const register of all('register')) {
    const refusal = refusedType(register, info);
    if (refusal !== null) throw new Error(`register ${preamble(register).name} ${refusal}`);
  }
  const arrays = (kind: ArrayKind) => all(kind).map((one) => ({ name: preamble(one).name, size: number(one, 'size') }));
  return { counter: arrays('counter'), meter: arrays('meter'), register: arrays('register') };
}

const has = (of: TextMessage, name: string) => messages(of, name).length > 0;

/** What is wrong with the type of a register (P4Runtime 1.4, 9.8); null: nothing. */
function refusedType(register: TextMessage, info: TextMessage): string | null {
  const [type] = messages(register, 'type_spec');
  if (!type || type.size === 0) return 'has no type';
  const [types] = messages(info, 'type_info');
  const known = (list: string, name: string) => types !== undefined && mapKeys(types, list).has(name);
  for (const [field, list] of [
    ['new_type', 'new_types'],
    ['serializable_enum', 'serializable_enums'],
  ] as const) {
    const [of] = messages(type, field);
    if (!of) continue;
    const name = textIn(of, 'name') ?? '';
    return known(list, name) ? null : `has the type "${name}", which is not among the types`;
  }
  const [bits] = messages(type, 'bitstring');
  const isNumber = bits ? has(bits, 'bit') || has(bits, 'int') : has(type, 'bool');
  return isNumber ? null : 'is not a number, which neither P4 switch supports';
}

/** The text format writes a map as its entries, JSON as an object. */
function mapKeys(of: TextMessage, name: string): ReadonlySet<string> {
  return new Set(
    messages(of, name).flatMap((each) => (each.has('key') ? [textIn(each, 'key') ?? ''] : [...each.keys()])),
  );
}

/** Enumerations of P4Runtime 1.4 in P4Info: of which objects, where in them, and their values by number. */
const SCOPES = ['TABLE_AND_DEFAULT', 'TABLE_ONLY', 'DEFAULT_ONLY'];
const COUNTED = ['UNSPECIFIED', 'BYTES', 'PACKETS', 'BOTH'];
const METERED = ['UNSPECIFIED', 'BYTES', 'PACKETS'];
const METERS = ['TWO_RATE_THREE_COLOR', 'SINGLE_RATE_THREE_COLOR', 'SINGLE_RATE_TWO_COLOR'];
const ENUMERATIONS = [
  {
    objects: 'tables',
    what: 'table',
    within: null,
    field: 'idle_timeout_behavior',
    values: ['NO_TIMEOUT', 'NOTIFY_CONTROL'],
  },
  { objects: 'tables', what: 'table', within: 'action_refs', field: 'scope', values: SCOPES },
  { objects: 'counters', what: 'counter', within: 'spec', field: 'unit', values: COUNTED },
  { objects: 'direct_counters', what: 'counter', within: 'spec', field: 'unit', values: COUNTED },
  { objects: 'meters', what: 'meter', within: 'spec', field: 'unit', values: METERED },
  { objects: 'direct_meters', what: 'meter', within: 'spec', field: 'unit', values: METERED },
  { objects: 'meters', what: 'meter', within: 'spec', field: 'type', values: METERS },
  { objects: 'direct_meters', what: 'meter', within: 'spec', field: 'type', values: METERS },
] as const;

/** What is not a value of its enumeration, in words. Kinds of match are judged with the keys that they belong to. */
export function unknownWords(info: TextMessage): string[] {
  return ENUMERATIONS.flatMap(({ objects, what, within, field, values }) =>
    messages(info, objects).flatMap((object) =>
      (within === null ? [object] : messages(object, within)).flatMap((of) => {
        const word = wordIn(of, field);
        if (word === undefined || values.some((value, number) => value === word || String(number) === word)) return [];
        return [`${what} ${preamble(object).name}: ${field} ${word} is none of ${values.join(', ')}`];
      }),
    ),
  );
}
