import { z } from 'zod';

type Issue = Parameters<z.core.$ZodErrorMap>[0];

const NOUNS: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  tuple: 'a list',
  object: 'an object',
  record: 'an object',
  null: 'null',
};

const list = (values: readonly unknown[]) => values.map(String).join(', ');

function oneOf(values: readonly unknown[]): string {
  return values.length === 1 ? `must be ${values[0]}` : `must be one of ${list(values)}`;
}

type Word = 'at least' | 'at most' | 'exactly';

/** `must be at least 5`, `must have at most 3 characters`, `must have exactly 1 entry`. */
function bounded(origin: string, bound: unknown, word: Word, inclusive: boolean): string {
  if (origin === 'string') return `must have ${word} ${bound} ${bound === 1 ? 'character' : 'characters'}`;
  if (origin === 'array' || origin === 'set' || origin === 'map')
    return `must have ${word} ${bound} ${bound === 1 ? 'entry' : 'entries'}`;
  if (inclusive) return `must be ${word} ${bound}`;
  return `must be ${word === 'at least' ? 'more' : 'less'} than ${bound}`;
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

/** What is wrong with a value, to be read after the name of its field; undefined: as the library says it. */
export function wordsOf(issue: Issue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      if (issue.input === undefined) return 'must be given';
      if (issue.input === Number.POSITIVE_INFINITY || issue.input === Number.NEGATIVE_INFINITY) return 'must be finite';
      return `must be ${NOUNS[issue.expected] ?? issue.expected}`;
    case 'too_small':
      if (issue.origin === 'string' && issue.minimum === 1) return 'must not be empty';
      return bounded(issue.origin, issue.minimum, issue.exact ? 'exactly' : 'at least', issue.inclusive !== false);
    case 'too_big':
      return bounded(issue.origin, issue.maximum, issue.exact ? 'exactly' : 'at most', issue.inclusive !== false);
    case 'invalid_value':
      return issue.input === undefined ? 'must be given' : oneOf(issue.values);
    case 'invalid_format':
      return issue.format === 'regex' ? `must match ${issue.pattern}` : `must be a valid ${issue.format}`;
    case 'not_multiple_of':
      return `must be a multiple of ${issue.divisor}`;
    case 'invalid_union': {
      if (!('options' in issue && Array.isArray(issue.options))) return undefined;
      return fieldOf(issue.input, String(issue.discriminator)) === undefined ? 'must be given' : oneOf(issue.options);
    }
    case 'unrecognized_keys':
      return `has unknown fields: ${list(issue.keys)}`;
    case 'invalid_key':
      return 'has a key that is not valid';
    default:
      return undefined;
  }
}

// Wherever values of the contract are checked; a schema's own words go first.
z.config({ customError: wordsOf });
