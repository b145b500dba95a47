import { expect, it } from 'vitest';
import { conflict, invalid, isRefusal, notFound, ProblemError, prospectOf, unavailable } from './problem.js';

const codes = (...all: string[]) => invalid(all.map((code) => ({ pointer: '', detail: 'because', code })));

it('what was in the way passes, time to plan may be there another time, and everything else is refused again', () => {
  expect(prospectOf(conflict('16 operations are already queued.'))).toBe('passing');
  expect(prospectOf(new ProblemError(412, 'At another revision.'))).toBe('passing');
  expect(prospectOf(codes('cpu', 'out-of-time'))).toBe('late');
  for (const refusal of [codes('cpu'), invalid([], 'There are too few cores.'), notFound('chain', 'ch-1')])
    expect(prospectOf(refusal)).toBe('final');
});

it('what the server or the store could not do is no refusal', () => {
  expect([codes('cpu'), conflict('It is being deployed.'), notFound('chain', 'ch-1')].every(isRefusal)).toBe(true);
  for (const error of [unavailable('The store is away.'), new ProblemError(500, 'It failed.'), new Error('It failed.')])
    expect(isRefusal(error)).toBe(false);
});
