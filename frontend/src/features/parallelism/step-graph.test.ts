import { ChainDefinition, type GraphEdge, type GraphNode, type Plan } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { drawnGraph, runGraph } from './step-graph.js';

const at = { chain_id: 'ch-1', server: 'server-1', core: 0, load_bps: 0, core_share: 0 };
const nf = (node_id: string, ordinal = 0, more = {}): GraphNode => ({
  kind: 'nf',
  id: `web.${node_id}.${ordinal}`,
  pgraph_node: `web.${node_id}`,
  node_id,
  nf: 'monitor',
  ordinal,
  driver: 'engine',
  ...at,
  ...more,
});
const branches = [
  { writes: false, resizes_at: null },
  { writes: false, resizes_at: null },
];
const NODES: GraphNode[] = [
  nf('ids'),
  nf('nat'),
  nf('nat', 1),
  nf('other', 0, { chain_id: 'ch-2' }),
  { kind: 'mirror', id: 'web.ids.mirror', within: null, hop: null, ...at },
  { kind: 'merge', id: 'web.ids.merge', mirror: 'web.ids.mirror', within: null, branches, ...at },
  { kind: 'queue', id: 'web.q', tasks: ['t'], ...at },
  { kind: 'exit', id: 'web.exit', chain_id: 'ch-1', direction: 'forward' },
];
const edge = (from: string | null, to: string, direction: GraphEdge['direction'] = 'forward') =>
  ({ id: `${from} ${to}`, chain_id: 'ch-1', from, to, direction }) as GraphEdge;
const plan = {
  graph: {
    nodes: NODES,
    edges: [
      edge(null, 'web.q'),
      edge('web.q', 'web.ids.mirror'),
      edge('web.ids.mirror', 'web.nat.0'),
      edge('web.ids.mirror', 'web.nat.1'),
      edge('web.ids.mirror', 'web.ids.0'),
      edge('web.ids.0', 'web.ids.merge'),
      edge('web.ids.0', 'web.ids.merge', 'no-op'),
      edge('web.nat.0', 'web.ids.merge'),
      edge('web.nat.1', 'web.ids.merge'),
      edge('web.ids.merge', 'web.exit'),
    ],
  },
} as unknown as Plan;

describe('a chain as it runs', () => {
  const { vertices, links } = runGraph(plan, 'ch-1');

  it('has each NF once, with its instances, and its mirrors and merges', () => {
    expect(vertices.map(({ id }) => id)).toEqual([
      'ingress',
      'ids',
      'nat',
      'web.ids.mirror',
      'web.ids.merge',
      'egress',
    ]);
    const nat = vertices.find(({ id }) => id === 'nat');
    expect(nat?.kind === 'nf' && nat.instances.map(({ id }) => id)).toEqual(['web.nat.0', 'web.nat.1']);
  });

  it('leads past queues, in the order of the chain, and leaves out what announces dropped packets', () => {
    expect(links.map(({ from, to }) => `${from} > ${to}`)).toEqual([
      'ingress > web.ids.mirror',
      'ids > web.ids.merge',
      'nat > web.ids.merge',
      'web.ids.mirror > ids',
      'web.ids.mirror > nat',
      'web.ids.merge > egress',
    ]);
  });
});

it('draws a chain as its designer did, also where two edges join the same NFs', () => {
  const definition = ChainDefinition.parse({
    name: 'web',
    title: 'Web',
    traffic_class: { from: ['client-1'] },
    nodes: [
      { id: 'in', kind: 'ingress' },
      { id: 'ids', kind: 'nf', nf: 'ids' },
      { id: 'out', kind: 'egress' },
    ],
    edges: [
      { id: 'a', from: 'in', to: 'ids' },
      { id: 'b', from: 'ids', to: 'out', filter: [{ attribute: 'ip.proto', op: 'is', value: 6 }] },
      { id: 'c', from: 'ids', to: 'out', filter: [{ attribute: 'ip.proto', op: 'is', value: 17 }] },
    ],
  });
  const drawn = drawnGraph(definition, [NODES[0]! as Extract<GraphNode, { kind: 'nf' }>]);
  expect(drawn.links).toEqual([
    { from: 'in', to: 'ids' },
    { from: 'ids', to: 'out' },
  ]);
  expect(drawn.vertices[1]).toMatchObject({ kind: 'nf', instances: [{ id: 'web.ids.0' }] });
});
