import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { fieldErrors, pointerOf } from './field-errors.js';

const errorsOf = (schema: z.ZodType, value: unknown) => fieldErrors(schema.safeParse(value).error!);

describe('pointerOf', () => {
  it('escapes as in RFC 6901 section 3', () => {
    expect(pointerOf(['a/b', 'c~d', 0])).toBe('/a~1b/c~0d/0');
  });

  it('is empty for the whole document', () => {
    expect(pointerOf([])).toBe('');
  });
});

describe('fieldErrors', () => {
  it('points at each unknown field', () => {
    const schema = z.strictObject({ a: z.strictObject({ b: z.number() }) });
    expect(errorsOf(schema, { a: { b: 1, x: 2, y: 3 } }).map(({ pointer, code }) => [pointer, code])).toEqual([
      ['/a/x', 'unknown-field'],
      ['/a/y', 'unknown-field'],
    ]);
  });

  it('reports the errors of the most likely branch', () => {
    const schema = z.union([z.strictObject({ plan_id: z.string() }), z.strictObject({ id: z.string(), n: z.int() })]);
    expect(errorsOf(schema, { id: 'x', n: 'many' }).map(({ pointer }) => pointer)).toEqual(['/n']);
  });

  it('points at the discriminator when no branch fits', () => {
    const schema = z.discriminatedUnion('kind', [z.strictObject({ kind: z.literal('a') })]);
    expect(errorsOf(schema, { kind: 'z' }).map(({ pointer }) => pointer)).toEqual(['/kind']);
  });
});
