import { FLOW_SPACE, type FlowRange, type NfSplit, type Plan, type PlannedChain } from '@orrery/contract';
import { expect, it } from 'vitest';
import { unknownSplits } from './asked-splits.js';

const cut = (at: number): FlowRange[] => [
  { lo: 0, hi: at },
  { lo: at, hi: FLOW_SPACE },
];
const HALVES = cut(FLOW_SPACE / 2);
const done = { exceptions: [], idle_timeout_s: 5 };
const split = (more: Omit<NfSplit, 'node_id'>): NfSplit => ({ node_id: 'ids', ...more });
const chain = {
  chain_id: 'c-1',
  version: 1,
  splits: [split({ ranges: HALVES, staged: done })],
  definition: {
    nodes: [
      { id: 'in', kind: 'ingress' },
      { id: 'ids', kind: 'nf', nf: 'ids' },
    ],
    edges: [{ id: 'e1', from: 'in', to: 'ids' }],
  },
} as unknown as PlannedChain;

/** The switch has halves; `front`: engines are in front of the instances, too. */
function planOf(front: boolean): Plan {
  const nf = { chain_id: 'c-1', node_id: 'ids' };
  const nodes = [0, 1].map((ordinal) => ({ kind: 'nf', id: `web.ids.${ordinal}`, ...nf, ordinal }));
  const engine = { kind: 'split', id: 'web.e1.split', ...nf, in_front_of: 0 };
  const targets = HALVES.map((range, i) => ({ instance_id: `web.ids.${i}`, range }));
  return {
    graph: { nodes: [...nodes, ...(front ? [engine] : [])] },
    splits: [{ ...nf, at: front ? 'engine' : 'switch', targets }],
  } as unknown as Plan;
}

const refused = (asked: Omit<NfSplit, 'node_id'>, front = false) =>
  unknownSplits({ splits: [split(asked)] }, chain, chain, planOf(front), '/splits').map(
    ({ pointer, code }) => `${pointer} ${code}`,
  );

it('gives switches other ranges of a split in steps only where engines know the flows in progress', () => {
  const untracked = ['/splits/0/staged/held not-tracked'];
  expect(refused({ ranges: cut(9), staged: done })).toEqual(untracked);
  expect(refused({ instances: 3, staged: done })).toEqual(untracked);
  expect(refused({ ranges: cut(9), staged: done }, true)).toEqual([]);
  // As they are, with flows that may lose their state, and by the steps.
  expect(refused({ ranges: HALVES, staged: done })).toEqual([]);
  expect(refused({ instances: 2, staged: done })).toEqual([]);
  expect(refused({ ranges: cut(9), staged: done, keep_flows: null })).toEqual([]);
  expect(refused({ ranges: HALVES, staged: { ...done, held: HALVES } })).toEqual([]);
});
