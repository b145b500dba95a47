import { expect, it } from 'vitest';
import { countersApart, type Observation } from './observation.js';

const observation = (more: Partial<Observation>): Observation => ({
  driver: 'ovs',
  sent: 2,
  arrived: ['a', 'b'],
  rules: new Map([['r1 at leaf-1', { packets: 2, bytes: 200 }]]),
  nfs: new Map([['i1 in', { packets: 2, bytes: 200 }]]),
  ...more,
});

it('names counters with other packets or bytes, and those that only one has', () => {
  const rules = (packets: number, bytes: number) =>
    observation({ rules: new Map([['r1 at leaf-1', { packets, bytes }]]) });
  expect(countersApart(observation({}), rules(1, 200))).toEqual(['r1 at leaf-1']);
  expect(countersApart(observation({}), rules(2, 201))).toEqual(['r1 at leaf-1']);
  expect(countersApart(observation({}), observation({ nfs: new Map() }))).toEqual(['i1 in']);
});
