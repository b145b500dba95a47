import { type DeclaredArrays, declaredArrays, unknownWords } from './p4-info-declared.js';
import { messages, number, preamble, textIn, wordIn } from './p4-info-fields.js';
import { P4_MATCH_KINDS, type P4Action, type P4Array, P4Content, type P4Field, type P4Table } from './p4-program.js';
import { messageOfJson, readTextFormat, type TextMessage } from './text-format.js';

/** Kinds of objects by the highest byte of their number (P4Runtime 1.4, 6.3). */
const ACTION = 0x01;
const TABLE = 0x02;

/** P4Info as a message: of the text format, or of JSON where it begins with a brace. Throws an error that names the line. */
export function p4InfoMessage(text: string): TextMessage {
  if (!isP4InfoJson(text)) return readTextFormat(text);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new Error(`is not JSON: ${(error as Error).message}`);
  }
  return messageOfJson(value);
}

export const isP4InfoJson = (text: string): boolean => text.trimStart().startsWith('{');

/**
 * Reads P4Info. What it does not know is passed over, as the agents of switches do: compilers may be newer. Throws an error that
 * names what is wrong: with the text, or with a table or an action by its name.
 */
export const readP4Info = (text: string): P4Content => contentOf(p4InfoMessage(text));

/** What an upload is judged by. */
export interface UploadedP4Info {
  readonly content: P4Content;
  /** Keys and parameters that have a type of their own, whose bits may be others than those of the JSON. */
  readonly typed: ReadonlySet<string>;
  readonly arrays: DeclaredArrays;
}

/** As `readP4Info`; throws an error also for what no switch takes. */
export function readUploadedP4Info(text: string): UploadedP4Info {
  const message = p4InfoMessage(text);
  const [unknown] = unknownWords(message);
  if (unknown !== undefined) throw new Error(unknown);
  const typed = (['match_fields', 'params'] as const).flatMap((list) =>
    messages(message, list === 'params' ? 'actions' : 'tables').flatMap((of) =>
      messages(of, list)
        .filter((one) => messages(one, 'type_name').length > 0)
        .map((one) => memberKey(preamble(of).name, textIn(one, 'name') ?? '')),
    ),
  );
  return { content: contentOf(message), typed: new Set(typed), arrays: declaredArrays(message) };
}

/** Names a key of a table or a parameter of an action among those of a program. */
export const memberKey = (of: string, name: string): string => `${of} ${name}`;

function contentOf(message: TextMessage): P4Content {
  const actions = messages(message, 'actions').map(action);
  const counted = new Set(messages(message, 'direct_counters').map((one) => number(one, 'direct_table_id')));
  const tables = messages(message, 'tables').map((one) => table(one, actions, counted));
  const arrays = (['counter', 'register'] as const).flatMap((kind) =>
    messages(message, `${kind}s`).map((one): P4Array => ({ kind, ...preamble(one), size: number(one, 'size') })),
  );
  if (tables.length + actions.length === 0) throw new Error('has neither tables nor actions');
  for (const all of [tables, actions, arrays]) unique(all);
  const checked = P4Content.safeParse({ tables, actions, arrays });
  if (!checked.success) {
    const [issue] = checked.error.issues;
    throw new Error(`${issue!.path.join('.')}: ${issue!.message}`);
  }
  return checked.data;
}

function table(of: TextMessage, actions: readonly P4Action[], counted: ReadonlySet<number>): P4Table {
  const { id, name } = preamble(of);
  if (id >>> 24 !== TABLE)
    throw new Error(`table ${name} has the number 0x${id.toString(16)}, which is none of a table`);
  const refs = messages(of, 'action_refs').map((ref) => {
    const found = actions.find((one) => one.id === number(ref, 'id'));
    if (!found) throw new Error(`table ${name} has the action ${number(ref, 'id')}, which is not among the actions`);
    const scope = wordIn(ref, 'scope');
    const only = { TABLE_ONLY: 'entries', DEFAULT_ONLY: 'default', '1': 'entries', '2': 'default' } as const;
    return { name: found.name, of: only[scope as keyof typeof only] ?? ('both' as const) };
  });
  const fields = messages(of, 'match_fields').map((one): P4Field => {
    const field = { id: number(one, 'id'), name: textIn(one, 'name') ?? '', bits: number(one, 'bitwidth') };
    const kind = matchKind(wordIn(one, 'match_type'));
    if (!kind) throw new Error(`table ${name}: key ${field.name} has no kind of match that P4Runtime knows`);
    if (field.bits === 0)
      throw new Error(`table ${name}: key ${field.name} is translated from strings, which neither P4 switch supports`);
    return { ...field, match: kind };
  });
  unique(fields);
  return {
    id,
    name,
    size: number(of, 'size'),
    fields,
    actions: refs,
    constant: /^(true|t|1)$/i.test(wordIn(of, 'is_const_table') ?? ''),
    constant_default: number(of, 'const_default_action_id') !== 0,
    counted: counted.has(id),
    profile: number(of, 'implementation_id') !== 0,
  };
}

function action(of: TextMessage): P4Action {
  const { id, name } = preamble(of);
  if (id >>> 24 !== ACTION)
    throw new Error(`action ${name} has the number 0x${id.toString(16)}, which is none of an action`);
  const params = messages(of, 'params').map((one) => {
    const param = { id: number(one, 'id'), name: textIn(one, 'name') ?? '', bits: number(one, 'bitwidth') };
    if (param.bits === 0)
      throw new Error(`action ${name}: ${param.name} is translated from strings, which neither P4 switch supports`);
    return param;
  });
  unique(params);
  return { id, name, params };
}

/** By name, or by the number of the enumeration. */
function matchKind(text: string | undefined): P4Field['match'] | undefined {
  const numbers: Record<string, P4Field['match']> = { 2: 'exact', 3: 'lpm', 4: 'ternary', 5: 'range', 6: 'optional' };
  return P4_MATCH_KINDS.find((kind) => kind.toUpperCase() === text) ?? numbers[text ?? ''];
}

function unique(all: readonly { readonly id: number; readonly name: string }[]): void {
  for (const [at, { id, name }] of all.entries()) {
    const first = all.findIndex((one) => one.id === id || one.name === name);
    if (first !== at) throw new Error(`${name} and ${all[first]!.name} have the same name or number`);
  }
}
