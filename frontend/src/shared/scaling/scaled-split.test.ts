import { FLOW_SPACE, type NfSplit, type Plan } from '@orrery/contract';
import { expect, it } from 'vitest';
import { scaledSplit } from './scaled-split.js';

const nf = { chain_id: 'ch-1', node_id: 'ids' };
const WHOLE = [{ lo: 0, hi: FLOW_SPACE }];
const HALVES = [
  { lo: 0, hi: FLOW_SPACE / 2 },
  { lo: FLOW_SPACE / 2, hi: FLOW_SPACE },
];
const done = { exceptions: [], idle_timeout_s: 5 };
const planOf = (staged?: NfSplit['staged']) =>
  ({
    chains: [{ chain_id: 'ch-1', splits: staged ? [{ node_id: 'ids', staged }] : [] }],
    splits: [{ ...nf, targets: HALVES.map((range) => ({ range })) }],
  }) as unknown as Plan;

it('leaves switches what they have where an NF is split in steps', () => {
  expect(scaledSplit(planOf(), nf, 3)).toEqual({ node_id: 'ids', instances: 3 });
  const asked = scaledSplit(planOf({ ...done, held: WHOLE }), nf, 1);
  expect(asked).toEqual({ node_id: 'ids', instances: 1, staged: { ...done, held: WHOLE } });
  expect(scaledSplit(planOf(done), nf, 3).staged).toEqual({ ...done, held: HALVES });
});

it('gives them the ranges of those that stay where one goes to which they send flows', () => {
  for (const staged of [done, { ...done, held: HALVES }])
    expect(scaledSplit(planOf(staged), nf, 1)).toEqual({ node_id: 'ids', instances: 1, keep_flows: null });
});
