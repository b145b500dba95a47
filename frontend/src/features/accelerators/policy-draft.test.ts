import { type ReconfigurationPolicy, ReconfigurationPolicyRequest } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { draftOfPolicy, NEW_POLICY, policyProblems, policyRequest, thresholdPlaces } from './policy-draft.js';

const policy: ReconfigurationPolicy = {
  id: 'po-1',
  title: 'SQL detector onto the board',
  enabled: true,
  nf: { pipeline_id: 'pl-1', node_id: 'sqli' },
  threshold: { metric: 'bps', up: 408e6, down: 300.5e6, for_s: 3 },
  displaces: [{ pipeline_id: 'pl-2', node_id: 'ddos' }],
  slot: { board: 'board-1', slot: 1 },
  load: 'full',
  policy: 'drop',
  priority: 0,
  cooldown_s: 0,
  load_now: 1e6,
  state: 'watching',
};

describe('the form of a policy', () => {
  it.each(['bps', 'pps', 'cpu'] as const)('gives back what it was filled with, in %s', (metric) => {
    const threshold = { ...policy.threshold, metric, ...(metric === 'cpu' && { up: 0.85, down: 0.07 }) };
    const { id: _id, load_now: _load, state: _state, ...fields } = { ...policy, threshold };
    const draft = draftOfPolicy({ ...policy, threshold });
    expect(policyProblems(draft)).toEqual({});
    expect(policyRequest(draft)).toEqual(fields);
    expect(ReconfigurationPolicyRequest.parse(policyRequest(draft))).toEqual(fields);
  });

  it('shows thresholds in the unit of the metric', () => {
    expect(draftOfPolicy(policy)).toMatchObject({ up: 408, down: 300.5, slot: 'board-1 1' });
  });

  it('says what is missing or wrong before it is sent', () => {
    expect(Object.keys(policyProblems(NEW_POLICY)).sort()).toEqual(['down', 'nf', 'title', 'up']);
    const filled = draftOfPolicy(policy);
    expect(policyProblems({ ...filled, down: 408 })).toEqual({ down: 'Must be below the upper threshold' });
    expect(Object.keys(policyProblems({ ...filled, priority: 1.5, for_s: 0.1, cooldown_s: -1 })).sort()).toEqual([
      'cooldown_s',
      'for_s',
      'priority',
    ]);
  });
});

describe('thresholdPlaces', () => {
  it('keeps the upper threshold off the end of the bar, unless the load is beyond', () => {
    expect(thresholdPlaces({ up: 80, down: 40 }, null)).toEqual({ up: 0.8, down: 0.4, load: null });
    expect(thresholdPlaces({ up: 80, down: 40 }, 160)).toEqual({ up: 0.5, down: 0.25, load: 1 });
  });
});
