import { FLOW_SPACE, type NfSplit, type Plan } from '@orrery/contract';
import { expect, it } from 'vitest';
import { scaledWay } from './scaled-split.js';

const nf = { chain_id: 'ch-1', node_id: 'ids' };
const WHOLE = [{ lo: 0, hi: FLOW_SPACE }];
const HALVES = [
  { lo: 0, hi: FLOW_SPACE / 2 },
  { lo: FLOW_SPACE / 2, hi: FLOW_SPACE },
];
const done = { exceptions: [], idle_timeout_s: 5 };
const keep = { flows: 'keep', isStateful: true } as const;

interface Runs {
  readonly count: number;
  readonly asked?: Partial<NfSplit>;
  /** By whom flows come; null: switches. */
  readonly from?: string | null;
  readonly key?: readonly string[];
  readonly keep_flows?: object | null;
}

function planOf({ count, asked, from = null, key = [], keep_flows = null }: Runs): Plan {
  const ids = Array.from({ length: count }, (_, i) => `web.ids.${i}`);
  return {
    chains: [{ chain_id: 'ch-1', splits: asked ? [{ node_id: 'ids', ...asked }] : [] }],
    graph: {
      nodes: ids.map((id, ordinal) => ({ kind: 'nf', id, ordinal, ...nf })),
      edges: ids.map((to) => ({ from, to, key, direction: 'forward' })),
    },
    splits: count > 1 ? [{ ...nf, keep_flows, targets: HALVES.map((range) => ({ range })) }] : [],
  } as unknown as Plan;
}

it('has engines get to know the flows of a first NF before it is split', () => {
  const { steps, first, last, idle_timeout_s } = scaledWay(planOf({ count: 1 }), nf, { ...keep, instances: 2 });
  expect(steps).toEqual(['stage', 'settle', 'resize']);
  const staged = { held: WHOLE, exceptions: [], idle_timeout_s };
  expect(first).toEqual({ node_id: 'ids', instances: 1, staged });
  expect(last).toEqual({ node_id: 'ids', instances: 2, staged });
  const two = scaledWay(planOf({ count: 2 }), nf, { ...keep, instances: 3 });
  expect(two.first).toMatchObject({ instances: 2, ranges: HALVES, staged: { held: HALVES } });
  expect(two.last.staged).toEqual(two.first!.staged);
});

it('changes at once what keeps no flows, or whose flows are known or move', () => {
  const at = (runs: Runs, more: object = {}) => scaledWay(planOf(runs), nf, { ...keep, instances: 2, ...more });
  for (const way of [
    at({ count: 1 }, { isStateful: false }),
    at({ count: 1, key: ['ip.src'], asked: { keep_flows: { capacity: 9, idle_timeout_s: 5 } } }),
    at({ count: 1, from: 'web.fw.0', key: ['ip.src'] }),
  ])
    expect(way).toMatchObject({ steps: ['resize'], first: null, last: { node_id: 'ids', instances: 2 } });
  expect(at({ count: 1 }, { flows: 'migrate' })).toMatchObject({ steps: ['resize', 'move'], first: null });
});

it('has the engines in front track the flows of another NF', () => {
  const way = scaledWay(planOf({ count: 1, from: 'web.fw.0' }), nf, { ...keep, instances: 2 });
  expect(way).toMatchObject({ steps: ['track', 'settle', 'resize'], first: { node_id: 'ids', instances: 1 } });
  expect(way.first).not.toHaveProperty('staged');
  expect(way.last).toEqual({ node_id: 'ids', instances: 2 });
});

it('leaves switches what they have where an NF is split in steps', () => {
  const front = { count: 2, from: 'web.e1.split', key: ['ip.src'], keep_flows: {} };
  const staged = { ...done, held: WHOLE };
  expect(scaledWay(planOf({ ...front, asked: { staged } }), nf, { ...keep, instances: 1 })).toMatchObject({
    steps: ['drain', 'empty', 'resize'],
    first: null,
    last: { node_id: 'ids', instances: 1, staged },
  });
  const again = scaledWay(planOf({ count: 2, key: ['ip.src'], asked: { staged: done } }), nf, {
    ...keep,
    instances: 3,
  });
  expect(again.steps).toEqual(['stage', 'settle', 'resize']);
  expect(again.first).toMatchObject({ instances: 2, ranges: HALVES });
  expect(again.last.staged).toEqual({ ...done, held: HALVES });
});

it('gives them the ranges of those that stay where one goes to which they send flows', () => {
  for (const staged of [done, { ...done, held: HALVES }])
    expect(scaledWay(planOf({ count: 2, asked: { staged } }), nf, { ...keep, instances: 1 }).last).toEqual({
      node_id: 'ids',
      instances: 1,
      keep_flows: null,
    });
});
