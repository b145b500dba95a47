import { z } from 'zod';
import type { FieldError } from '../common.js';
import { pointerOf } from '../field-errors.js';
import { readP4Info } from './p4-info.js';
import { P4_JSON_MOST_BYTES, type P4Content, P4INFO_MOST_BYTES, type P4ProgramUpload } from './p4-program.js';

const Named = z.looseObject({ name: z.string() });
const Key = z.looseObject({ name: z.string().nullish(), match_type: z.string(), target: z.unknown() });

/** What of BMv2 JSON is compared with P4Info. All else is judged by the switch that loads it. */
const Bmv2 = z.looseObject({
  __meta__: z.looseObject({
    version: z.tuple([z.literal(2, 'must be 2: the format is not BMv2 JSON 2.x'), z.int().min(0)]),
  }),
  header_types: z.array(Named),
  headers: z.array(Named),
  parsers: z.array(Named).min(1, 'has no parser'),
  deparsers: z.array(Named).min(1, 'has no deparser'),
  actions: z.array(
    z.looseObject({ name: z.string(), runtime_data: z.array(z.looseObject({ name: z.string(), bitwidth: z.int() })) }),
  ),
  pipelines: z
    .array(z.looseObject({ name: z.string(), tables: z.array(z.looseObject({ name: z.string(), key: z.array(Key) })) }))
    .min(1, 'has no pipeline'),
});
type Bmv2 = z.infer<typeof Bmv2>;

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
  let content: P4Content | null = null;
  try {
    content = readP4Info(p4info);
  } catch (error) {
    errors.push({ pointer: '/p4info', detail: (error as Error).message, code: 'bad-p4info' });
  }
  if ('errors' in json) return { errors: [...json.errors, ...errors] };
  if (!content) return { errors };
  const faults = disagreements(json.program, content);
  if (faults.length > 0)
    return { errors: faults.map((detail) => ({ pointer: '/p4info', detail, code: 'other-program' })) };
  return { content };
}

function tooLong(text: string, pointer: string, most: number): FieldError[] {
  const bytes = new TextEncoder().encode(text).length;
  if (bytes <= most) return [];
  return [{ pointer, detail: `has ${bytes} bytes; at most ${most} are taken`, code: 'too-long' }];
}

function readJson(text: string): { program: Bmv2 } | { errors: FieldError[] } {
  const error = (detail: string) => ({ errors: [{ pointer: '/bmv2_json', detail, code: 'bad-bmv2-json' }] });
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (failure) {
    return error(`is not JSON: ${(failure as Error).message}`);
  }
  const read = Bmv2.safeParse(value);
  if (read.success) return { program: read.data };
  const [issue] = read.error.issues;
  const where = pointerOf(issue!.path);
  return error(`is not BMv2 JSON 2.x of p4c: ${where || 'the whole'} ${issue!.message}`);
}

/** In words. What p4c left out of the JSON as unused may be in P4Info. */
function disagreements(program: Bmv2, { tables, actions }: P4Content): string[] {
  const faults: string[] = [];
  const inJson = new Map(program.pipelines.flatMap((pipeline) => pipeline.tables).map((table) => [table.name, table]));
  const known = tables.filter(({ name }) => inJson.has(name));
  if (tables.length > 0 && known.length === 0)
    return [`is that of another program: the JSON has none of its tables, such as ${tables[0]!.name}`];
  for (const { name, fields } of known) {
    const { key } = inJson.get(name)!;
    if (key.length !== fields.length) {
      faults.push(`table ${name} has ${fields.length} keys, and ${key.length} in the JSON`);
      continue;
    }
    for (const [i, field] of fields.entries()) {
      const there = key[i]!;
      // p4c compiles an optional key as a ternary one.
      const kinds: readonly string[] = field.match === 'optional' ? ['optional', 'ternary'] : [field.match];
      if (!kinds.includes(there.match_type))
        faults.push(`table ${name}: key ${field.name} is ${field.match}, and ${there.match_type} in the JSON`);
      if (typeof there.name === 'string' && there.name !== field.name)
        faults.push(`table ${name}: key ${i + 1} is ${field.name}, and ${there.name} in the JSON`);
    }
  }
  for (const { name, params } of actions) {
    const there = program.actions.filter((one) => one.name === name);
    const text = (all: readonly { name: string; bits: number }[]) =>
      all.map((one) => `${one.name}: ${one.bits}`).join(', ') || 'none';
    const own = text(params);
    const others = there.map(({ runtime_data }) =>
      text(runtime_data.map((one) => ({ name: one.name, bits: one.bitwidth }))),
    );
    if (others.length > 0 && !others.includes(own))
      faults.push(`action ${name} has the parameters ${own}, and ${others[0]} in the JSON`);
  }
  return faults.slice(0, 20);
}
