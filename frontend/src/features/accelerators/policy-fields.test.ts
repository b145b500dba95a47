import { ReconfigurationPolicyRequest } from '@orrery/contract';
import { expect, it } from 'vitest';
import { formProblems } from '../../shared/form/field-problems.js';
import { NEW_POLICY, policyFields } from './policy-fields.js';

const filled = {
  ...NEW_POLICY,
  title: 'SQL detector onto the board',
  nf: { chain_id: 'ch-1', node_id: 'sqli' },
  threshold: { metric: 'bps', up: 408e6, down: 300.5e6, for_s: 3 },
  displaces: [{ chain_id: 'ch-2', node_id: 'ddos' }],
};
const wrong = (change: object) => {
  const values = { ...filled, ...change };
  return [...formProblems(policyFields(values), values).keys()];
};

it('takes what the contract takes', () => {
  expect(wrong({})).toEqual([]);
  expect(ReconfigurationPolicyRequest.safeParse(filled).success).toBe(true);
  expect(wrong({ slot: { board: 'board-1', slot: 1 }, load: 'full', priority: 0, cooldown_s: 0 })).toEqual([]);
});

it('finds what the contract refuses, before it is sent', () => {
  expect(wrong({ title: ' ', nf: undefined })).toEqual(['/title', '/nf']);
  expect(wrong({ threshold: { metric: 'bps' } })).toEqual(['/threshold/up', '/threshold/down']);
  expect(wrong({ threshold: { ...filled.threshold, up: 0, for_s: 0.1 } })).toEqual([
    '/threshold/up',
    '/threshold/for_s',
  ]);
  expect(wrong({ priority: 1.5, cooldown_s: -1 })).toEqual(['/priority', '/cooldown_s']);
});

it('asks about frames during the load only where there is a choice', () => {
  const keys = (load: string) => policyFields({ load }).map(({ key }) => key);
  expect(keys('partial')).toContain('policy');
  expect(keys('full')).not.toContain('policy');
});
