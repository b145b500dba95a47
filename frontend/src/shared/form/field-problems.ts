import { type FormField, withUnit } from './field-model.js';
import { asValues, type Values } from './field-values.js';

/** The pattern of a non-blank text. */
const NOT_BLANK = '\\S';

/** What known patterns ask for: they say it with the length. */
const PATTERN_WORDS: ReadonlyMap<string, string> = new Map([
  [
    '^[a-z][a-z0-9-]{0,39}$',
    'must begin with a letter and have only lower-case letters, digits and hyphens, at most 40',
  ],
]);

/** The error of a value being typed, or null. The server's validator is authoritative. */
export function fieldProblem(field: FormField, value: unknown): string | null {
  if (field.kind === 'text' && field.pattern === NOT_BLANK && String(value ?? '').trim() === '')
    return field.required ? 'must be given' : null;
  // Absent, its default would be taken without a word.
  const isEmptied = value === '' && field.kind === 'number' && field.default !== undefined;
  if (value === undefined || value === null || value === '')
    return field.required || isEmptied ? 'must be given' : null;
  switch (field.kind) {
    case 'text': {
      if (field.numbers && typeof value === 'number') {
        const { min, max } = field.numbers;
        return value >= min && value <= max ? null : `must lie within ${min}-${max}`;
      }
      const given = String(value);
      const words = field.pattern ? PATTERN_WORDS.get(field.pattern) : undefined;
      if (words) return matches(field.pattern!, given) ? null : words;
      if (given.length < field.minLength) return `must have at least ${field.minLength} characters`;
      if (given.length > field.maxLength) return `must have at most ${field.maxLength} characters`;
      return field.pattern && !matches(field.pattern, given)
        ? `must look like ${field.examples.join(' or ') || field.pattern}`
        : null;
    }
    case 'number':
      if (typeof value !== 'number' || !Number.isFinite(value)) return 'must be a number';
      if (field.integer && !Number.isInteger(value)) return 'must be a whole number';
      if (field.above !== null && value <= field.above) return `must be more than ${withUnit(field, field.above)}`;
      if (field.min !== null && value < field.min) return `must be at least ${withUnit(field, field.min)}`;
      return field.max !== null && value > field.max ? `must be at most ${withUnit(field, field.max)}` : null;
    case 'choice':
      return field.options.some((option) => option.value === value) ? null : 'must be one of the options';
    case 'rows':
    case 'list':
    case 'references': {
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

/** All errors of the values of a form, by JSON Pointer, including missing required ones. */
export function formProblems(fields: readonly FormField[], values: Values, at = ''): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const field of fields) collect(field, values[field.key], `${at}/${field.key}`, found);
  return found;
}

function collect(field: FormField, value: unknown, pointer: string, found: Map<string, string>): void {
  const problem = fieldProblem(field, value ?? field.default);
  if (problem) found.set(pointer, problem);
  if (field.kind === 'group' && value !== undefined && value !== null)
    for (const [at, inner] of formProblems(field.fields, asValues(value), pointer)) found.set(at, inner);
  if (field.kind === 'rows' && Array.isArray(value))
    for (const [index, row] of value.entries())
      for (const [at, inner] of formProblems(field.columns, asValues(row), `${pointer}/${index}`)) found.set(at, inner);
  if (field.kind === 'list' && Array.isArray(value))
    for (const [index, item] of value.entries()) collect(field.item, item, `${pointer}/${index}`, found);
}
