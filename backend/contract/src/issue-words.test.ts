import { expect, it } from 'vitest';
import { z } from 'zod';
import { fieldErrors } from './field-errors.js';

const kinds = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('latency') }),
  z.object({ kind: z.literal('throughput') }),
]);

it.each([
  [z.int().min(1), 0, 'must be at least 1'],
  [z.number().gt(0), 0, 'must be more than 0'],
  [z.number().max(5), 6, 'must be at most 5'],
  [z.number().lt(5), 5, 'must be less than 5'],
  [z.int(), 1.5, 'must be a whole number'],
  [z.number(), '1', 'must be a number'],
  [z.number(), Number.NaN, 'must be a number'],
  [z.coerce.number(), 'abc', 'must be a number'],
  [z.number(), Number.POSITIVE_INFINITY, 'must be finite'],
  [z.tuple([z.int(), z.int()]), 1, 'must be a list'],
  [z.array(z.int()).length(1), [], 'must have exactly 1 entry'],
  [z.array(z.int()).length(1), [1, 2], 'must have exactly 1 entry'],
  [z.number(), null, 'must be a number'],
  [z.number(), undefined, 'must be given'],
  [z.enum(['a', 'b']), undefined, 'must be given'],
  [z.enum(['a', 'b']), 'c', 'must be one of a, b'],
  [z.literal('a'), 'c', 'must be a'],
  [z.string().min(1), '', 'must not be empty'],
  [z.string().min(2), 'a', 'must have at least 2 characters'],
  [z.string().max(1), 'ab', 'must have at most 1 character'],
  [z.string().regex(/^x/, 'must start with x'), 'a', 'must start with x'],
  [z.string().regex(/^x/), 'a', 'must match /^x/'],
  [z.array(z.int()).min(1), [], 'must have at least 1 entry'],
  [z.array(z.int()).max(2), [1, 2, 3], 'must have at most 2 entries'],
  [z.object({}), [], 'must be an object'],
  [kinds, { kind: 'loss' }, 'must be one of latency, throughput'],
  [kinds, {}, 'must be given'],
])('%#: says what a value must be', (schema, value, words) => {
  expect(fieldErrors(schema.safeParse(value).error!).map(({ detail }) => detail)).toEqual([words]);
});
