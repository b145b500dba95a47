import { expect, it } from 'vitest';
import { toDrain } from './moves.js';

it('a drain that is tried again takes chains down where that was asked for one of the parts, and never otherwise', () => {
  const part = (force: boolean) => ({ maintenance: { reason: 'x', by: 'a', since_ms: 1, force } });
  expect(toDrain([part(false), part(true)])).toEqual({ when_short: 'leave-out' });
  expect(toDrain([part(false)])).toEqual({});
  expect(toDrain([{ maintenance: null }])).toEqual({});
});
