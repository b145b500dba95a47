import type { FabricRule, SwitchSamples, SwitchSpec } from '@orrery/contract';
import { expect, it } from 'vitest';
import { ruleStates } from './switch-state.js';

const spec = { generation: 2, entries: [{ rule_id: 'r1' }, { rule_id: null }] } as unknown as SwitchSpec;
const rules = [{ id: 'r1', chain_id: 'c1', kind: 'classify' }] as unknown as FabricRule[];
const samples = (generation: number) =>
  ({ generation, entries: [], rules: [{ rule_id: 'r1', packets: 3, bytes: 300 }] }) as unknown as SwitchSamples;

it('shows counters of rules only for the generation for which they were read', () => {
  const rule = { rule_id: 'r1', chain_id: 'c1', kind: 'classify', entries: 1 };
  expect(ruleStates(spec, rules, samples(2))).toEqual([{ ...rule, packets: 3, bytes: 300 }]);
  expect(ruleStates(spec, rules, samples(1))).toEqual([{ ...rule, packets: null, bytes: null }]);
  expect(ruleStates(spec, rules, null)).toEqual([{ ...rule, packets: null, bytes: null }]);
});
