import type { Operation } from '@orrery/contract';
import { expect, it } from 'vitest';
import { conflict, invalid, ProblemError, unavailable } from '../../platform/problem.js';
import { backoffMs, endingOf, endingOfLate, refusalOf } from './endings.js';
import { Memories, takeLate, takeNote } from './memories.js';

const over = (state: Operation['state'], how: Partial<Operation> = {}) =>
  ({ state, cancelled_by: null, error: { detail: 'because', errors: [] }, ...how }) as unknown as Operation;

it('requests wait where something else was in the way, and are refused by what does not pass', () => {
  expect(refusalOf(conflict('16 operations are already queued.'))).toMatchObject({ is: 'passing' });
  expect(refusalOf(new ProblemError(412, 'At another revision.'))).toMatchObject({ is: 'passing' });
  expect(refusalOf(invalid([], 'There are too few cores.'))).toEqual({ is: 'final', why: 'There are too few cores.' });
  const codeOf = (...codes: string[]) => invalid(codes.map((code) => ({ pointer: '', detail: 'because', code })));
  expect(refusalOf(codeOf('out-of-time'))).toMatchObject({ is: 'late' });
  expect(refusalOf(codeOf('cpu'))).toMatchObject({ is: 'final' });
  for (const code of ['switch-table', 'switch-ability', 'class-conflict'])
    expect(refusalOf(codeOf('link-bandwidth', code))).toMatchObject({ is: 'crowded' });
  expect(() => refusalOf(unavailable('The store is away.'))).toThrow('The store is away.');
});

it('an operation that was taken back is tried again a few times, and one that somebody cancelled or rolled back is not', () => {
  expect(endingOf(over('COMPLETED'), 9)).toEqual({ is: 'done' });
  expect(endingOf(over('PARTIALLY_COMPLETED'), 9)).toEqual({ is: 'done' });
  const ends = [0, 1, 2, 3, 4, 5].map((failures) => endingOf(over('ROLLED_BACK'), failures).is);
  expect(ends).toEqual(['passing', 'passing', 'passing', 'passing', 'final', 'final']);
  expect(endingOf(over('FAILED'), 0)).toEqual({ is: 'passing', why: 'because' });
  for (const how of [{ cancelled_by: 'somebody' }, { rolled_back_by: 'somebody' }])
    expect(endingOf(over('ROLLED_BACK', how), 0)).toEqual({ is: 'final', why: 'because' });
});

it('a plan that takes too long is tried again a few times, while nothing changes on which it depends', () => {
  const memory = new Memories(1000).of('pool');
  const endsIn = (surroundings: string) => endingOfLate('it took too long', takeLate(memory, surroundings)).is;
  expect(['a', 'a', 'a', 'a', 'a'].map(endsIn)).toEqual(['passing', 'passing', 'passing', 'passing', 'final']);
  takeNote(memory, { is: 'final', why: '' }, 0);
  expect(['a', 'a', 'b', 'b', 'b', 'b', 'b'].map(endsIn).lastIndexOf('final')).toBe(6);
  expect(memory.late).toEqual({ surroundings: 'b', times: 5 });
});

it('attempts are further and further apart, up to a bound', () => {
  expect([0, 1, 2, 3, 9, 5000].map((attempts) => backoffMs(attempts, 500, 30_000))).toEqual([
    500, 1000, 2000, 4000, 30_000, 30_000,
  ]);
});
