import { expect, it } from 'vitest';
import { chainSpec } from '../../testing/switch-flows.js';
import { switchP4 } from '../switch-p4/switch-p4.js';
import { RecentClasses } from './recent-classes.js';

it('has classes read at first, and then while they have packets and ten seconds longer', () => {
  const [one] = chainSpec(1, switchP4.abilities).entries;
  const spec = { entries: ['busy', 'quiet'].map((rule_id) => ({ ...one!, rule_id })) };
  const classes = new Map([
    ['busy', 3],
    ['quiet', 4],
  ]);
  const recent = new RecentClasses();
  const counts = (packets: number) => new Map([[0, { packets, bytes: 0 }]]);
  const steps = [{ about_us: 1, packets: 2 }];
  const read = (packets: number, at_ms: number, of = classes) => {
    const due = recent.due(of, spec, counts(packets), at_ms);
    const all = recent.merge(of, new Map([...due].map(([rule, place]) => [rule, { place, steps }])));
    expect([...all.keys()]).toEqual([...of.keys()]);
    return [...due.keys()];
  };
  expect(read(1, 0)).toEqual(['busy', 'quiet']);
  expect(read(2, 1000)).toEqual(['busy']);
  expect(read(2, 11_000)).toEqual(['busy']);
  expect(read(2, 11_001)).toEqual([]);
  expect(read(3, 30_000)).toEqual(['busy']);
  expect(read(3, 31_000, new Map(classes).set('quiet', 9))).toEqual(['busy', 'quiet']);
});
