import { expect, it } from 'vitest';
import { type Count, since, total } from './counted.js';

it('counts from the reading before, or from the start of a counter that began anew', () => {
  const before = new Map<string, Count>([
    ['kept', { packets: 5, bytes: 500 }],
    ['anew', { packets: 9, bytes: 900 }],
  ]);
  const now = new Map<string, Count>([
    ['kept', { packets: 7, bytes: 700 }],
    ['anew', { packets: 2, bytes: 200 }],
    ['new', { packets: 2, bytes: 200 }],
  ]);
  const counted = since(now, before);
  for (const name of now.keys()) expect(counted.get(name)).toEqual({ packets: 2, bytes: 200 });
  expect(total(counted)).toEqual({ packets: 6, bytes: 600 });
});
