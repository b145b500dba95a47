import { STAMPED_US, type SwitchSpec } from '@orrery/contract';
import { expect, it } from 'vitest';
import { chainSpec } from '../../testing/switch-flows.js';
import { switchP4 } from '../switch-p4/switch-p4.js';
import { latenciesOf, stampedClasses } from './class-latency.js';

function specOf(rules: readonly string[]): SwitchSpec {
  const spec = chainSpec(1, switchP4.abilities);
  const one = spec.entries.find(({ rule_id }) => rule_id !== null)!;
  return { ...spec, entries: rules.map((rule_id) => ({ ...one, rule_id })) };
}

it('leaves a class its number while it is there, whichever others come and go', () => {
  const rules = Array.from({ length: 64 }, (_, i) => `classify/c${i}.e1`);
  const all = stampedClasses(specOf(rules));
  expect(new Set(all.values()).size).toBe(64);
  const left = rules.filter((_, i) => i % 3 !== 0);
  const after = stampedClasses(specOf(left), all);
  expect(after).toEqual(new Map(left.map((rule) => [rule, all.get(rule)])));
  // Those that come get what is free, without moving one that is there.
  const again = stampedClasses(specOf([...left, 'classify/new.e1']), after);
  for (const rule of left) expect(again.get(rule)).toBe(all.get(rule));
  expect(left.map((rule) => all.get(rule))).not.toContain(again.get('classify/new.e1'));
});

it('tells the first and the last step by their ends, and those between by their middles', () => {
  const { steps } = latenciesOf([], new Map([['one', 3]])).get('one')!;
  const told = steps.map(({ about_us }) => about_us);
  expect([told[0], told.at(-1)]).toEqual([STAMPED_US.least, STAMPED_US.most]);
  expect(told).toEqual([...told].sort((a, b) => a - b));
  expect(new Set(told).size).toBe(32);
});
