import type { FlowSelector, GraphEdge, Plan, PlannedSplit } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { steeringBetween } from './steering-points.js';

const ALL: FlowSelector = { match: [] };
const MOVE = { from: 'p.mon.0', to: 'p.mon.1', flows: ALL };
const KEY = ['ip.src', 'ip.dst'] as const;

const node = (id: string, server: string) => ({ kind: 'nf', id, pgraph_node: id.slice(0, -2), node_id: id, server });
const edge = (from: string | null, to: string, over: Partial<GraphEdge> = {}) => ({
  from,
  to,
  pgraph_edge: `${from?.slice(0, -2)}-${to.slice(0, -2)}`,
  direction: 'forward',
  key: [...KEY],
  hop: null,
  ...over,
});

/** Two firewalls whose engines split the flows of a monitor of two instances, one of which is on another server. */
const GRAPH = {
  nodes: [node('p.fw.0', 's1'), node('p.fw.1', 's2'), node('p.mon.0', 's1'), node('p.mon.1', 's2')],
  edges: [
    edge('p.fw.0', 'p.mon.0'),
    edge('p.fw.0', 'p.mon.1', { hop: 7 }),
    edge('p.fw.1', 'p.mon.0', { hop: 8 }),
    edge('p.fw.1', 'p.mon.1'),
  ],
};
const SPLIT = {
  node_id: 'mon',
  at: 'engine',
  key: [...KEY],
  targets: ['p.mon.0', 'p.mon.1'].map((instance_id) => ({ instance_id })),
  keep_flows: { capacity: 100, idle_timeout_s: 30 },
};

function steering(over: Partial<PlannedSplit> = {}, { graph = GRAPH, move = MOVE, return_traffic = false } = {}) {
  const plan = { graph, splits: [{ ...SPLIT, ...over }] } as unknown as Plan;
  return steeringBetween(plan, { return_traffic }, move);
}

describe('flows are steered', () => {
  it('behind each instance before the split, by the targets that its server knows', () => {
    expect(steering()).toEqual({
      idle_timeout_s: 30,
      points: [
        {
          instance_id: 'p.fw.0',
          server: 's1',
          from: { kind: 'instance', instance_id: 'p.mon.0' },
          to: { kind: 'hop', hop: 7 },
        },
        {
          instance_id: 'p.fw.1',
          server: 's2',
          from: { kind: 'hop', hop: 8 },
          to: { kind: 'instance', instance_id: 'p.mon.1' },
        },
      ],
    });
  });

  it('behind a split in front of the instances, where the switch cannot split', () => {
    const graph = {
      nodes: [{ kind: 'split', id: 'p.mon.split', node_id: 'mon', server: 's1' }, ...GRAPH.nodes.slice(2)],
      edges: [
        edge(null, 'p.mon.split', { hop: 5, key: [] }),
        edge('p.mon.split', 'p.mon.0', { pgraph_edge: 'e' }),
        edge('p.mon.split', 'p.mon.1', { pgraph_edge: 'e', hop: 7 }),
      ],
    } as unknown as typeof GRAPH;
    const point = {
      instance_id: 'p.mon.split',
      server: 's1',
      from: { kind: 'instance', instance_id: 'p.mon.0' },
      to: { kind: 'hop', hop: 7 },
    };
    expect(steering({}, { graph })).toEqual({ idle_timeout_s: 30, points: [point] });
  });

  it('or the reason why they cannot be is a sentence', () => {
    expect(steering({}, { move: { ...MOVE, to: 'p.other.0' } })).toMatch(/No split leads to both/);
    expect(steering({ at: 'switch' })).toMatch(/Switches split/);
    expect(steering({ keep_flows: null })).toMatch(/does not track flows/);
    expect(steering({}, { return_traffic: true })).toMatch(/Replies come to the address/);
    const ports: FlowSelector = { match: [{ field: 'port.dst', lo: 1, hi: 2, not: false }] };
    expect(steering({}, { move: { ...MOVE, flows: ports } })).toMatch(/by port.dst/);
    const unreachable = { ...GRAPH, edges: GRAPH.edges.filter(({ to }) => to !== 'p.mon.1') };
    expect(steering({}, { graph: unreachable })).toMatch(/another way/);
    const followed = {
      nodes: [...GRAPH.nodes, node('p.ids.0', 's1'), node('p.ids.1', 's2')],
      edges: [...GRAPH.edges, edge('p.mon.0', 'p.ids.0', { key: [] }), edge('p.mon.1', 'p.ids.1', { key: [] })],
    };
    expect(steering({}, { graph: followed })).toMatch(/follow those of mon/);
  });
});
