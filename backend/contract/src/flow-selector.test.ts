import { expect, it } from 'vitest';
import { fieldErrors } from './field-errors.js';
import { MigrateRequest } from './flow-selector.js';

it.each([
  ['ip.src', 'the source address'],
  ['ip.dst', 'the destination address'],
])('names the address of a term in words, besides where it stands: %s', (field, words) => {
  const read = MigrateRequest.safeParse({ to: 'p.nat.1', flows: { match: [{ field, prefix: '10.0.1.3/40' }] } });
  expect(fieldErrors(read.error!)).toEqual([
    expect.objectContaining({ pointer: '/flows/match/0/prefix', detail: expect.stringContaining(`${words} must be`) }),
  ]);
});
