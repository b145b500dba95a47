import { same } from './diff.js';

/** What a form shows for one part of a `config_schema` (JSON Schema 2020-12). */
export type FormField =
  | TextField
  | NumberField
  | BooleanField
  | ChoiceField
  | RowsField
  | ListField
  | GroupField
  | RawField;

interface FieldBase {
  /** Property name; empty for the item of a list. */
  key: string;
  title: string;
  description: string;
  required: boolean;
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
  /** A whole number is taken as a number within these bounds; null: everything is text. */
  numbers: { min: number; max: number } | null;
}
export interface NumberField extends FieldBase {
  kind: 'number';
  integer: boolean;
  min: number | null;
  max: number | null;
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
}
export interface GroupField extends FieldBase {
  kind: 'group';
  fields: FormField[];
}
/** Anything that has no form of its own is edited as YAML, so that no setting is out of reach. */
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

function fieldOf(root: Schema, unresolved: Schema, key: string, required: boolean, depth: number): FormField {
  const schema = resolve(root, unresolved);
  const base: FieldBase = {
    key,
    title: text(schema.title, titleOf(key)),
    description: text(schema.description),
    required,
    default: schema.default,
  };
  const raw: RawField = { ...base, kind: 'raw' };
  if (depth > 3) return raw;
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
        min: number(schema.minimum) ?? (above !== null && integer ? above + 1 : above),
        max: number(schema.maximum) ?? (below !== null && integer ? below - 1 : below),
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
      const itemTitle = text(items.title, base.title.replace(/s$/, '')).toLowerCase();
      if (items.type === 'object') {
        const columns = fieldsOf(root, items, depth + 1);
        return columns.length > 0 ? { ...base, ...limits, itemTitle, kind: 'rows', columns } : raw;
      }
      const item = fieldOf(root, items, '', true, depth + 1);
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

/** What a text field stores for what was typed. */
export function textValue(field: TextField, typed: string): string | number {
  return field.numbers && /^-?\d{1,15}$/.test(typed.trim()) ? Number(typed) : typed;
}

function choices(schema: Schema): ChoiceField['options'] | null {
  const plain = (value: unknown): value is string | number => typeof value === 'string' || typeof value === 'number';
  if (Array.isArray(schema.enum)) {
    const values = schema.enum.filter(plain);
    return values.length === schema.enum.length
      ? values.map((value) => ({ value, title: titleOf(String(value)) }))
      : null;
  }
  const alternatives = Array.isArray(schema.oneOf) ? schema.oneOf : Array.isArray(schema.anyOf) ? schema.anyOf : null;
  if (!alternatives || alternatives.length === 0) return null;
  const options = alternatives.flatMap((each) =>
    isSchema(each) && plain(each.const)
      ? [{ value: each.const, title: text(each.title, titleOf(String(each.const))) }]
      : [],
  );
  return options.length === alternatives.length ? options : null;
}

const UNITS: Record<string, string> = {
  bps: 'bit/s',
  pps: 'packets/s',
  bytes: 'bytes',
  us: 'µs',
  ms: 'ms',
  s: 's',
};

/** A property name as a label, its unit in brackets: `rate_bps` becomes "Rate (bit/s)". */
export function titleOf(key: string): string {
  const words = key.split(/[_-]+/).filter(Boolean);
  const unit = words.length > 1 ? UNITS[words.at(-1) ?? ''] : undefined;
  const sentence = (unit ? words.slice(0, -1) : words).join(' ');
  return sentence.charAt(0).toUpperCase() + sentence.slice(1) + (unit ? ` (${unit})` : '');
}

/** The value a field starts with when nothing is set: its default, else the least that its kind allows. */
export function initialValue(field: FormField): unknown {
  if (field.default !== undefined) return structuredClone(field.default);
  switch (field.kind) {
    case 'text':
      return '';
    case 'number':
      return field.min ?? 0;
    case 'boolean':
      return false;
    case 'choice':
      return field.options[0]?.value ?? '';
    case 'rows':
      return Array.from({ length: field.minItems }, () => newRow(field.columns));
    case 'list':
      return Array.from({ length: field.minItems }, () => initialValue(field.item));
    case 'group':
      return newRow(field.fields);
    case 'raw':
      return null;
  }
}

/** An object with every required field and every field that has a default. */
export function newRow(fields: readonly FormField[]): Record<string, unknown> {
  return Object.fromEntries(
    fields
      .filter((field) => field.required || field.default !== undefined)
      .map((field) => [field.key, initialValue(field)]),
  );
}

/** The configuration without what the descriptor's defaults say anyway. */
export function withoutDefaults(
  values: Record<string, unknown>,
  defaults: Record<string, unknown>,
): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).filter(([key, value]) => !same(value, defaults[key])));
}

/** A row in a few words, for a folded list: the values of its fields in order. */
export function rowSummary(fields: readonly FormField[], row: Record<string, unknown>): string {
  return fields
    .flatMap((field) => {
      const value = row[field.key];
      if (value === undefined || value === '' || typeof value === 'object' || value === false) return [];
      if (value === true) return [field.title.toLowerCase()];
      return field.kind === 'number' ? [`${field.title.toLowerCase()} ${value}`] : [String(value)];
    })
    .join(' · ');
}

/** What is wrong with a value that is being typed, or null. The server's validator has the last word. */
export function fieldProblem(field: FormField, value: unknown): string | null {
  if (value === undefined || value === '') return field.required ? 'must be given' : null;
  switch (field.kind) {
    case 'text': {
      if (field.numbers && typeof value === 'number') {
        const { min, max } = field.numbers;
        return value >= min && value <= max ? null : `must lie within ${min}-${max}`;
      }
      const given = String(value);
      if (given.length < field.minLength) return `must have at least ${field.minLength} characters`;
      if (given.length > field.maxLength) return `must have at most ${field.maxLength} characters`;
      return field.pattern && !matches(field.pattern, given)
        ? `must look like ${field.examples.join(' or ') || field.pattern}`
        : null;
    }
    case 'number':
      if (typeof value !== 'number' || !Number.isFinite(value)) return 'must be a number';
      if (field.integer && !Number.isInteger(value)) return 'must be a whole number';
      if (field.min !== null && value < field.min) return `must be at least ${field.min}`;
      return field.max !== null && value > field.max ? `must be at most ${field.max}` : null;
    case 'choice':
      return field.options.some((option) => option.value === value) ? null : 'must be one of the options';
    case 'rows':
    case 'list': {
      const length = Array.isArray(value) ? value.length : 0;
      if (length < field.minItems) return `needs at least ${field.minItems}`;
      return length > field.maxItems ? `holds at most ${field.maxItems}` : null;
    }
    default:
      return null;
  }
}

function matches(pattern: string, value: string): boolean {
  try {
    return new RegExp(pattern, 'u').test(value);
  } catch {
    return true;
  }
}
