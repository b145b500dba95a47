import { SWITCH_DRIVER_TITLES, unitOfName, unitText } from '@orrery/contract';
import { rateText } from '../../editor-model/rate.js';

/** What a form shows for one part of a JSON Schema (2020-12): the configuration of an NF, the body of a request. */
export type FormField =
  | TextField
  | NumberField
  | BooleanField
  | ChoiceField
  | RowsField
  | ListField
  | GroupField
  | ReferenceField
  | ReferencesField
  | RawField;

interface FieldBase {
  /** Property name; empty for the item of a list. */
  key: string;
  title: string;
  description: string;
  required: boolean;
  /** Empty is null: the schema allows a value or null. */
  nullable: boolean;
  /** Always read-only. */
  readOnly: boolean;
  default: unknown;
}
export interface TextField extends FieldBase {
  kind: 'text';
  minLength: number;
  maxLength: number;
  pattern: string | null;
  multiline: boolean;
  placeholder: string;
  /** Values that the schema gives as examples. */
  examples: string[];
  /** An integer within these bounds is stored as a number; null: everything is text. */
  numbers: { min: number; max: number } | null;
}
export interface NumberField extends FieldBase {
  kind: 'number';
  integer: boolean;
  min: number | null;
  max: number | null;
  /** The value is more than this; null: `min` is the bound. */
  above: number | null;
  /** Unit as in the API, e.g. `bps`; empty: none, or it is part of the title. */
  unit: string;
}
export interface BooleanField extends FieldBase {
  kind: 'boolean';
}
export interface ChoiceField extends FieldBase {
  kind: 'choice';
  options: { value: string | number; title: string }[];
}
/** An array of objects: one row each, one column a property. */
export interface RowsField extends FieldBase {
  kind: 'rows';
  itemTitle: string;
  columns: FormField[];
  minItems: number;
  maxItems: number;
}
/** An array of plain values. */
export interface ListField extends FieldBase {
  kind: 'list';
  itemTitle: string;
  item: TextField | NumberField | ChoiceField;
  minItems: number;
  maxItems: number;
  /** It need not be set: what holds then. A list whose last item is removed is not set. */
  unset?: string;
}
export interface GroupField extends FieldBase {
  kind: 'group';
  fields: FormField[];
}
/** The id of an existing resource, e.g. a node; the form provides the options (`FormBinding.references`). */
export interface ReferenceField extends FieldBase {
  kind: 'reference';
  /** What it refers to, as the schema's keyword `reference` says. */
  to: string;
}
/** The ids of existing resources of one kind. */
export interface ReferencesField extends FieldBase {
  kind: 'references';
  to: string;
  minItems: number;
  maxItems: number;
}
/** Fallback: anything without a form of its own is edited as text, so that every setting is accessible. */
export interface RawField extends FieldBase {
  kind: 'raw';
}

type Schema = Record<string, unknown>;

const isSchema = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const text = (value: unknown, otherwise = '') => (typeof value === 'string' ? value : otherwise);
const number = (value: unknown) => (typeof value === 'number' ? value : null);

/** The fields of an object schema in the order of its properties. */
export function formFields(schema: Schema): FormField[] {
  return fieldsOf(schema, schema, 0);
}

/** A group around existing fields. */
export function groupField(
  { key, title, description = '' }: { readonly key: string; readonly title: string; readonly description?: string },
  fields: FormField[],
): GroupField {
  return {
    kind: 'group',
    key,
    title,
    description,
    required: true,
    nullable: false,
    readOnly: false,
    default: {},
    fields,
  };
}

function fieldsOf(root: Schema, schema: Schema, depth: number): FormField[] {
  const required = Array.isArray(schema.required) ? schema.required : [];
  const properties = isSchema(schema.properties) ? schema.properties : {};
  return Object.entries(properties).flatMap(([key, property]) =>
    isSchema(property) ? [fieldOf(root, property, key, required.includes(key), depth)] : [],
  );
}

function resolve(root: Schema, schema: Schema): Schema {
  const reference = text(schema.$ref);
  if (!reference.startsWith('#/')) return schema;
  let target: unknown = root;
  for (const step of reference.slice(2).split('/')) target = isSchema(target) ? target[step] : undefined;
  if (!isSchema(target)) return schema;
  const { $ref: _, ...own } = schema;
  return { ...target, ...own };
}

/** `anyOf: [value, null]`, as zod writes nullable values. */
function withoutNull(root: Schema, schema: Schema): { schema: Schema; nullable: boolean } {
  const { anyOf, ...own } = schema;
  if (!Array.isArray(anyOf) || anyOf.length !== 2) return { schema, nullable: false };
  const value = anyOf.find((each) => isSchema(each) && each.type !== 'null');
  const hasNull = anyOf.some((each) => isSchema(each) && each.type === 'null');
  return hasNull && isSchema(value)
    ? { schema: { ...resolve(root, value), ...own }, nullable: true }
    : { schema, nullable: false };
}

function fieldOf(root: Schema, unresolved: Schema, key: string, required: boolean, depth: number): FormField {
  const { schema, nullable } = withoutNull(root, resolve(root, unresolved));
  const base: FieldBase = {
    key,
    title: text(schema.title, titleOf(key)),
    description: text(schema.description),
    required: required && !nullable,
    nullable,
    readOnly: schema.readOnly === true,
    default: schema.default,
  };
  const raw: RawField = { ...base, kind: 'raw' };
  if (depth > 3) return raw;
  const to = text(schema.reference);
  if (to) return { ...base, kind: 'reference', to };
  const options = choices(schema);
  if (options) return { ...base, kind: 'choice', options };
  const numeric = textOrNumber(schema.type);
  switch (numeric ? 'string' : schema.type) {
    case 'string': {
      const examples = Array.isArray(schema.examples) ? schema.examples.map(String) : [];
      return {
        ...base,
        kind: 'text',
        minLength: number(schema.minLength) ?? 0,
        maxLength: number(schema.maxLength) ?? 4096,
        pattern: text(schema.pattern) || null,
        multiline: schema.format === 'multiline' || (number(schema.maxLength) ?? 0) > 500,
        placeholder: examples[0] ?? '',
        examples,
        numbers: numeric
          ? {
              min: number(schema.minimum) ?? Number.MIN_SAFE_INTEGER,
              max: number(schema.maximum) ?? Number.MAX_SAFE_INTEGER,
            }
          : null,
      };
    }
    case 'integer':
    case 'number': {
      const integer = schema.type === 'integer';
      const above = number(schema.exclusiveMinimum);
      const below = number(schema.exclusiveMaximum);
      return {
        ...base,
        kind: 'number',
        integer,
        min: number(schema.minimum) ?? (above !== null && integer ? above + 1 : null),
        above: integer ? null : above,
        max: number(schema.maximum) ?? (below !== null && integer ? below - 1 : below),
        unit: text(schema.unit),
      };
    }
    case 'boolean':
      return { ...base, kind: 'boolean' };
    case 'object': {
      const fields = fieldsOf(root, schema, depth + 1);
      return fields.length > 0 ? { ...base, kind: 'group', fields } : raw;
    }
    case 'array': {
      const limits = { minItems: number(schema.minItems) ?? 0, maxItems: number(schema.maxItems) ?? 1000 };
      if (!isSchema(schema.items)) return raw;
      const items = resolve(root, schema.items);
      const itemTitle = lowered(text(items.title, base.title.replace(/s$/, '')));
      if (items.type === 'object') {
        const columns = fieldsOf(root, items, depth + 1);
        return columns.length > 0 ? { ...base, ...limits, itemTitle, kind: 'rows', columns } : raw;
      }
      const item = fieldOf(root, items, '', true, depth + 1);
      if (item.kind === 'reference') return { ...base, ...limits, kind: 'references', to: item.to };
      return item.kind === 'text' || item.kind === 'number' || item.kind === 'choice'
        ? { ...base, ...limits, itemTitle, kind: 'list', item }
        : raw;
    }
    default:
      return raw;
  }
}

/** `["string", "integer"]`: a name or a number, e.g. a protocol or a port range. */
function textOrNumber(type: unknown): boolean {
  return (
    Array.isArray(type) &&
    type.length === 2 &&
    type.includes('string') &&
    (type.includes('integer') || type.includes('number'))
  );
}

function choices(schema: Schema): ChoiceField['options'] | null {
  const plain = (value: unknown): value is string | number => typeof value === 'string' || typeof value === 'number';
  if (Array.isArray(schema.enum)) {
    const values = schema.enum.filter(plain);
    const titles = isSchema(schema.titles) ? schema.titles : {};
    return values.length === schema.enum.length
      ? values.map((value) => ({ value, title: text(titles[value], valueTitle(String(value))) }))
      : null;
  }
  const alternatives = Array.isArray(schema.oneOf) ? schema.oneOf : Array.isArray(schema.anyOf) ? schema.anyOf : null;
  if (!alternatives || alternatives.length === 0) return null;
  const options = alternatives.flatMap((each) =>
    isSchema(each) && plain(each.const)
      ? [{ value: each.const, title: text(each.title, valueTitle(String(each.const))) }]
      : [],
  );
  return options.length === alternatives.length ? options : null;
}

/** Values with names of their own: those of the drivers of switches. */
const VALUE_TITLES: ReadonlyMap<string, string> = new Map(Object.entries(SWITCH_DRIVER_TITLES));

const valueTitle = (value: string): string => VALUE_TITLES.get(value) ?? titleOf(value);

/** Units of what is counted per one of them. */
const PER: Record<string, string> = { s: 'second', ms: 'millisecond', us: 'microsecond', bytes: 'byte' };

const ACRONYMS = new Set(['cpu', 'http', 'id', 'ip', 'nf', 'slo', 'tcp', 'udp', 'url']);
const PLURALS: ReadonlyMap<string, string> = new Map([
  ['nfs', 'NFs'],
  ['slos', 'SLOs'],
]);

/** A title within a sentence: acronyms stay as they are. */
export function lowered(title: string): string {
  return title
    .split(' ')
    .map((word) => (/[A-Z].*[A-Z]/.test(word) ? word : word.toLowerCase()))
    .join(' ');
}

/** Whether it is edited and shown as a rate in bit/s. */
export const isRate = ({ key, unit }: Pick<NumberField, 'key' | 'unit'>): boolean =>
  unit === 'bps' || key.endsWith('_bps');

/** Numbers up to it, such as ports, have no separators. */
export const LARGEST_PORT = 65_535;

/** A value as a sentence names it: `100 Gbit/s`, `2000 requests/s`. */
export function withUnit(field: Pick<NumberField, 'key' | 'unit'>, value: number): string {
  if (isRate(field)) return rateText(value);
  const unit = field.unit ? unitText(field.unit) : unitOfName(field.key);
  const digits = value > LARGEST_PORT ? value.toLocaleString('en', { maximumFractionDigits: 6 }) : String(value);
  return unit ? `${digits} ${unit}` : digits;
}

/**
 * A property name as a label, its unit in brackets: `rate_bps` becomes "Rate (bit/s)", `packets_per_s` "Packets per second", and
 * `nf` "NF".
 */
export function titleOf(key: string): string {
  const words = key.split(/[_-]+/).filter(Boolean);
  const last = words.at(-1) ?? '';
  const isRate = words.at(-2) === 'per';
  const unit = unitOfName(key);
  const named = isRate ? [...words.slice(0, -1), PER[last] ?? last] : unit ? words.slice(0, -1) : words;
  const written = (word: string) => PLURALS.get(word) ?? (ACRONYMS.has(word) ? word.toUpperCase() : word);
  const sentence = named.map(written).join(' ');
  return sentence.charAt(0).toUpperCase() + sentence.slice(1) + (unit ? ` (${unit})` : '');
}
