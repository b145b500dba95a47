import { z } from 'zod';
import type { FieldError } from '../common.js';
import { pointerOf } from '../field-errors.js';
import { arrayFaults, Bmv2Arrays } from './p4-arrays-check.js';
import { memberKey, readUploadedP4Info, type UploadedP4Info } from './p4-info.js';
import {
  P4_JSON_MOST_BYTES,
  type P4Action,
  type P4Content,
  P4INFO_MOST_BYTES,
  type P4ProgramUpload,
  type P4Table,
} from './p4-program.js';

const Named = z.looseObject({ name: z.string() });
const Key = z.looseObject({ name: z.string().nullish(), match_type: z.string(), target: z.unknown() });

const Table = z.looseObject({ name: z.string(), key: z.array(Key), actions: z.array(z.string()) });

/** What of BMv2 JSON is compared with P4Info. All else is judged by the switch that loads it. */
const Bmv2 = z.looseObject({
  __meta__: z.looseObject({
    version: z.tuple([z.literal(2, 'must be 2: the format is not BMv2 JSON 2.x'), z.int().min(0)]),
  }),
  header_types: z.array(
    z.looseObject({ name: z.string(), fields: z.array(z.tuple([z.string(), z.unknown()], z.unknown())) }),
  ),
  headers: z.array(z.looseObject({ name: z.string(), header_type: z.string() })),
  parsers: z.array(Named).min(1, 'has no parser'),
  deparsers: z.array(Named).min(1, 'has no deparser'),
  actions: z.array(
    z.looseObject({ name: z.string(), runtime_data: z.array(z.looseObject({ name: z.string(), bitwidth: z.int() })) }),
  ),
  pipelines: z.array(z.looseObject({ name: z.string(), tables: z.array(Table) })).min(1, 'has no pipeline'),
  ...Bmv2Arrays.shape,
});
type Bmv2 = z.infer<typeof Bmv2>;

const P4_SOURCE = 'is P4 source; compile it, e.g. by p4c';

/** Asked of what cannot be read otherwise. */
const isP4Source = (text: string): boolean =>
  /^[ \t]*(?:#[ \t]*include\b|(?:control|parser|header|struct|typedef|const|extern|package)[ \t]+[\w<])/m.test(text);

/** The content of a program, or what is wrong with JSON, P4Info, or both beside each other. */
export function checkP4Program({
  bmv2_json,
  p4info,
}: Pick<P4ProgramUpload, 'bmv2_json' | 'p4info'>): { content: P4Content } | { errors: FieldError[] } {
  const errors = [
    ...tooLong(bmv2_json, '/bmv2_json', P4_JSON_MOST_BYTES),
    ...tooLong(p4info, '/p4info', P4INFO_MOST_BYTES),
  ];
  if (errors.length > 0) return { errors };
  const json = readJson(bmv2_json);
  let info: UploadedP4Info | null = null;
  try {
    info = readUploadedP4Info(p4info);
  } catch (error) {
    const detail = mistakenForP4Info(p4info) ?? (error as Error).message;
    errors.push({ pointer: '/p4info', detail, code: 'bad-p4info' });
  }
  if ('errors' in json) return { errors: [...json.errors, ...errors] };
  if (!info) return { errors };
  const faults = disagreements(json.program, info);
  if (faults.length > 0)
    return { errors: faults.map((detail) => ({ pointer: '/p4info', detail, code: 'other-program' })) };
  return { content: info.content };
}

function tooLong(text: string, pointer: string, most: number): FieldError[] {
  const bytes = new TextEncoder().encode(text).length;
  if (bytes <= most) return [];
  return [{ pointer, detail: `has ${bytes} bytes; at most ${most} are taken`, code: 'too-long' }];
}

/** What else was given in place of P4Info; null: not known. */
function mistakenForP4Info(text: string): string | null {
  if (isP4Source(text)) return `${P4_SOURCE}, and give its P4Info here`;
  try {
    const isBmv2 = z.looseObject({ header_types: z.array(z.unknown()), pipelines: z.array(z.unknown()) });
    return isBmv2.safeParse(JSON.parse(text)).success ? 'is the BMv2 JSON of p4c, not P4Info' : null;
  } catch {
    return null;
  }
}

function readJson(text: string): { program: Bmv2 } | { errors: FieldError[] } {
  const error = (detail: string) => ({ errors: [{ pointer: '/bmv2_json', detail, code: 'bad-bmv2-json' }] });
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (failure) {
    return error(
      isP4Source(text) ? `${P4_SOURCE}, and give its BMv2 JSON here` : `is not JSON: ${(failure as Error).message}`,
    );
  }
  const read = Bmv2.safeParse(value);
  if (read.success) return { program: read.data };
  const [issue] = read.error.issues;
  const where = pointerOf(issue!.path);
  return error(`is not BMv2 JSON 2.x of p4c: ${where || 'the whole'} ${issue!.message}`);
}

type Typed = ReadonlySet<string>;
type JsonTable = z.infer<typeof Table>;
type BitsOf = (target: unknown) => number | undefined;

/** In words. What p4c left out of the JSON as unused may be in P4Info. */
function disagreements(program: Bmv2, { content: { tables, actions }, typed, arrays }: UploadedP4Info): string[] {
  const inJson = new Map(program.pipelines.flatMap((pipeline) => pipeline.tables).map((table) => [table.name, table]));
  if (tables.length > 0 && !tables.some(({ name }) => inJson.has(name)))
    return [`is that of another program: the JSON has none of its tables, such as ${tables[0]!.name}`];
  const named = new Set(tables.map(({ name }) => name));
  const unnamed = [...inJson.values()].filter(({ name }) => isOwn(name) && !named.has(name));
  const bitsOf = widthsIn(program);
  const faults = tables.flatMap((table) => {
    const there = inJson.get(table.name);
    if (there) return tableFaults(table, there, bitsOf, typed);
    const other = unnamed.find((one) => isAlike(table, one));
    return other ? [`table ${table.name} is not in the JSON, which has ${other.name} instead`] : [];
  });
  return [
    ...faults,
    ...actions.flatMap((action) => actionFaults(action, program, typed)),
    ...renamedActions(program, actions, tables),
    ...arrayFaults(program, arrays),
  ].slice(0, 20);
}

/** What has no dot is the compiler's, or of its library. */
const isOwn = (name: string) => name.includes('.');

/** Whether a table of the JSON is that of P4Info under another name. p4c leaves what is `@hidden` out of P4Info. */
function isAlike({ fields, actions }: P4Table, { key, actions: others }: JsonTable): boolean {
  const sorted = (names: readonly string[]) => [...names].sort().join();
  return (
    key.length === fields.length &&
    key.every(({ match_type }, i) => kindsInJson(fields[i]!.match).includes(match_type)) &&
    sorted(actions.map(({ name }) => name)) === sorted(others)
  );
}

/** As with tables, by their parameters. */
function renamedActions(
  { actions: inJson, pipelines }: Bmv2,
  actions: readonly P4Action[],
  tables: readonly P4Table[],
) {
  const there = new Set(inJson.map(({ name }) => name));
  const named = new Set(actions.map(({ name }) => name));
  const shown = new Set(tables.map(({ name }) => name));
  const ofHidden = new Set(
    pipelines.flatMap((pipeline) => pipeline.tables.flatMap((one) => (shown.has(one.name) ? [] : one.actions))),
  );
  const unnamed = inJson.filter(({ name }) => isOwn(name) && !named.has(name) && !ofHidden.has(name));
  const text = (bits: readonly number[]) => bits.join();
  return actions.flatMap(({ name, params }) => {
    if (!isOwn(name) || there.has(name)) return [];
    const own = text(params.map(({ bits }) => bits));
    const other = unnamed.find(({ runtime_data }) => text(runtime_data.map(({ bitwidth }) => bitwidth)) === own);
    return other ? [`action ${name} is not in the JSON, which has ${other.name} instead`] : [];
  });
}

function tableFaults({ name, fields, actions }: P4Table, there: JsonTable, bitsOf: BitsOf, typed: Typed): string[] {
  const faults = actions
    .filter((action) => !there.actions.includes(action.name))
    .map((action) => {
      const all = there.actions.join(', ') || 'none';
      return `table ${name} has the action ${action.name}, which it does not have in the JSON: there it has ${all}`;
    });
  if (there.key.length !== fields.length)
    return [...faults, `table ${name} has ${fields.length} keys, and ${there.key.length} in the JSON`];
  for (const [i, field] of fields.entries()) {
    const key = there.key[i]!;
    if (!kindsInJson(field.match).includes(key.match_type))
      faults.push(`table ${name}: key ${field.name} is ${field.match}, and ${key.match_type} in the JSON`);
    if (typeof key.name === 'string' && key.name !== field.name)
      faults.push(`table ${name}: key ${i + 1} is ${field.name}, and ${key.name} in the JSON`);
    const bits = typed.has(memberKey(name, field.name)) ? undefined : bitsOf(key.target);
    if (bits !== undefined && bits !== field.bits)
      faults.push(`table ${name}: key ${field.name} has ${field.bits} bits, and ${bits} in the JSON`);
  }
  return faults;
}

/** p4c compiles an optional key as a ternary one, and early versions have a kind of their own for the validity of a header. */
function kindsInJson(match: P4Table['fields'][number]['match']): readonly string[] {
  if (match === 'optional') return ['optional', 'ternary'];
  return match === 'exact' ? ['exact', 'valid'] : [match];
}

function actionFaults({ name, params }: P4Action, program: Bmv2, typed: Typed): string[] {
  const there = program.actions.filter((one) => one.name === name);
  const bits = (param: string, width: number) => (typed.has(memberKey(name, param)) ? '' : `: ${width}`);
  const text = (all: readonly { readonly name: string; readonly bits: number }[]) =>
    all.map((one) => `${one.name}${bits(one.name, one.bits)}`).join(', ') || 'none';
  const own = text(params);
  const others = there.map(({ runtime_data }) =>
    text(runtime_data.map((one) => ({ name: one.name, bits: one.bitwidth }))),
  );
  if (others.length === 0 || others.includes(own)) return [];
  return [`action ${name} has the parameters ${own}, and ${others[0]} in the JSON`];
}

/** Bits of what a key is matched with; undefined: the switch judges it. */
function widthsIn({ headers, header_types }: Bmv2): BitsOf {
  const types = new Map(
    header_types.map(({ name, fields }) => [name, new Map(fields.map(([id, bits]) => [id, bits]))]),
  );
  const typeOf = new Map(headers.map(({ name, header_type }) => [name, types.get(header_type)]));
  return (target) => {
    const [header, field] = Array.isArray(target) ? target : [];
    if (field === '$valid$') return 1;
    const bits = typeof header === 'string' ? typeOf.get(header)?.get(String(field)) : undefined;
    return typeof bits === 'number' ? bits : undefined;
  };
}
