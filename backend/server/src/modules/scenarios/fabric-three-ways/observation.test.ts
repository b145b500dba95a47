import { expect, it } from 'vitest';
import { type Count, countersApart, framesApart, type Observation, since, total } from './observation.js';

const observation = (more: Partial<Observation>): Observation => ({
  driver: 'ovs',
  sent: 2,
  arrived: ['a', 'b'],
  rules: new Map([['r1 at leaf-1', { packets: 2, bytes: 200 }]]),
  nfs: new Map([['i1 in', { packets: 2, bytes: 200 }]]),
  ...more,
});

it('finds nothing apart whatever the order in which frames arrive', () => {
  const other = observation({ driver: 'p4', arrived: ['b', 'a'] });
  expect(framesApart(observation({}), other)).toBe(0);
  expect(countersApart(observation({}), other)).toEqual([]);
});

it('counts frames that are missing, come twice, or are others', () => {
  expect(framesApart(observation({}), observation({ arrived: ['a'] }))).toBe(1);
  expect(framesApart(observation({}), observation({ arrived: ['a', 'b', 'b'] }))).toBe(1);
  expect(framesApart(observation({}), observation({ arrived: ['a', 'c'] }))).toBe(2);
});

it('names counters with other packets or bytes, and those that only one has', () => {
  const rules = (packets: number, bytes: number) =>
    observation({ rules: new Map([['r1 at leaf-1', { packets, bytes }]]) });
  expect(countersApart(observation({}), rules(1, 200))).toEqual(['r1 at leaf-1']);
  expect(countersApart(observation({}), rules(2, 201))).toEqual(['r1 at leaf-1']);
  expect(countersApart(observation({}), observation({ nfs: new Map() }))).toEqual(['i1 in']);
});

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
