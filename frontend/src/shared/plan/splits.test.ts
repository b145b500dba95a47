import type { GraphEdge, Plan } from '@orrery/contract';
import { expect, it } from 'vitest';
import { shareOfHash, splitsOf } from './splits.js';

const edge = (from: string, to: string, lo: number, hi: number, more: Partial<GraphEdge> = {}) =>
  ({
    id: `${from} ${to} ${lo}`,
    from,
    to,
    to_server: 'server-1',
    pgraph_edge: 'web.e1',
    direction: 'forward',
    key: ['ip.src'],
    range: { lo, hi },
    ...more,
  }) as unknown as GraphEdge;
const plan = {
  graph: {
    nodes: [],
    edges: [
      edge('ids', 'nat.1', 16384, 49152),
      edge('ids', 'nat.0', 0, 16384),
      edge('ids', 'nat.0', 49152, 65536),
      edge('ids', 'fw.0', 0, 65536, { pgraph_edge: 'web.e2' }),
      edge('ids', 'mon.0', 0, 65536, { pgraph_edge: 'web.e3', key: [] }),
      edge('fw', 'nat.0', 0, 65536),
    ],
  },
} as unknown as Plan;

it('has each target once with all of its ranges, and no output with one target', () => {
  const [split, ...others] = splitsOf(plan, 'ids');
  expect(others).toEqual([]);
  expect(split).toMatchObject({ id: 'web.e1', key: ['ip.src'] });
  expect(split!.parts.map(({ to, ranges }) => [to, ranges.length, shareOfHash(ranges)])).toEqual([
    ['nat.0', 2, 0.5],
    ['nat.1', 1, 0.5],
  ]);
});
