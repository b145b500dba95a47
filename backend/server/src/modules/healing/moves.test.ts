import { expect, it } from 'vitest';
import { toDrain } from './moves.js';

it('a drain names its own part alone, and takes chains down only where that was asked for this part', () => {
  expect(toDrain({ id: 's1', kind: 'server' }, true)).toEqual({ without_servers: ['s1'], when_short: 'leave-out' });
  expect(toDrain({ id: 's2', kind: 'server' }, false)).toEqual({ without_servers: ['s2'] });
  expect(toDrain({ id: 'b', kind: 'board' }, false)).toEqual({ without_boards: ['b'] });
});
