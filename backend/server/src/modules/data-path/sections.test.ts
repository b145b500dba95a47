import type { FabricSpec, GraphEdge, GraphNode, InstanceGraph } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { RACK } from '../../testing/fixtures.js';
import { refusedKey, sectionsOf } from './sections.js';

const nf = (id: string, server = 'server-1') => ({ kind: 'nf', id, chain_id: 'c', server }) as unknown as GraphNode;
const other = (kind: 'mirror' | 'merge' | 'queue' | 'exit', id: string) =>
  ({ kind, id, chain_id: 'c', direction: 'forward' }) as unknown as GraphNode;
const edge = (from: string | null, to: string, direction: GraphEdge['direction'] = 'forward') =>
  ({ id: `${from}-${to}`, chain_id: 'c', from, to, direction }) as unknown as GraphEdge;
const FABRIC = {
  generation: 1,
  rules: [
    { id: 'c.class', chain_id: 'c', kind: 'classify', from_hosts: ['client-1'] },
    { id: 'hop-1', chain_id: 'c', kind: 'hop', from_hosts: ['client-1'] },
    { id: 'd.class', chain_id: 'd', kind: 'classify', from_hosts: ['client-1'] },
  ],
} as unknown as FabricSpec;
const RULES = RACK.switches.map(({ id }) => `rule/${id} c.class/pps`);

const sections = (graph: InstanceGraph) =>
  sectionsOf({ graph, fabric: FABRIC, chains: [{ chain_id: 'c' }] }, RACK.switches).map(({ from, to }) => [
    from.passes,
    to.receives,
    `${from.label} > ${to.label}`,
  ]);

describe('the sections of a chain', () => {
  it('lead from the classes of the switches over every NF to the exit, and one over the whole chain', () => {
    const nodes = [nf('a'), nf('b.0'), nf('b.1', 'server-2'), other('exit', 'c.exit')];
    const edges = [edge(null, 'a'), edge('a', 'b.0'), edge('a', 'b.1'), edge('b.0', 'c.exit'), edge('b.1', 'c.exit')];
    expect(sections({ nodes, edges })).toEqual([
      [RULES, ['instance/a/pps'], 'the switch > a (server-1)'],
      [
        ['instance/a/out_pps'],
        ['instance/b.0/pps', 'instance/b.1/pps'],
        'a (server-1) > b.0 (server-1) or b.1 (server-2)',
      ],
      [['instance/b.0/out_pps'], ['chain/c/pps'], 'b.0 (server-1) > the exit'],
      [['instance/b.1/out_pps'], ['chain/c/pps'], 'b.1 (server-2) > the exit'],
      [RULES, ['chain/c/pps', refusedKey('c')], 'the switch > the exit'],
    ]);
  });

  it('say where NFs do not count what they drop on purpose', () => {
    const nodes = [nf('a'), other('exit', 'c.exit')];
    const graph = { nodes, edges: [edge(null, 'a'), edge('a', 'c.exit')] };
    const found = sectionsOf({ graph, fabric: FABRIC, chains: [{ chain_id: 'c' }] }, RACK.switches, () => false);
    expect(found.map(({ from, to, mayRefuse }) => [`${from.label} > ${to.label}`, mayRefuse])).toEqual([
      ['the switch > a (server-1)', false],
      ['a (server-1) > the exit', false],
      ['the switch > the exit', true],
    ]);
  });

  it('lead from hosts, or from the server of an NF, to the servers of the next NFs', () => {
    const nodes = [nf('a'), nf('b.0'), nf('b.1', 'server-2'), other('exit', 'c.exit')];
    const edges = [edge(null, 'a'), edge('a', 'b.0'), edge('a', 'b.1'), edge('b.0', 'c.exit')];
    const found = sectionsOf({ graph: { nodes, edges }, fabric: FABRIC, chains: [{ chain_id: 'c' }] }, RACK.switches);
    expect(found.filter(({ isWhole }) => !isWhole).map(({ way }) => way)).toEqual([
      { from: ['client-1'], to: ['server-1'] },
      { from: ['server-1'], to: ['server-1', 'server-2'] },
      { from: ['server-1'], to: [] },
    ]);
  });

  it('end where the agents of servers tell what arrives', () => {
    const nodes = [nf('a'), nf('b', 'server-2'), other('exit', 'c.exit')];
    const edges = [edge(null, 'a'), edge('a', 'b'), edge('b', 'c.exit')];
    const found = sectionsOf({ graph: { nodes, edges }, fabric: FABRIC, chains: [{ chain_id: 'c' }] }, RACK.switches);
    expect(found.map(({ to }) => to.servers)).toEqual([
      ['server-1'],
      ['server-2'],
      ['server-2'],
      ['server-1', 'server-2'],
    ]);
  });

  it('pass over mirrors and queues, which count no packets, and end before merges, which drop what one branch dropped', () => {
    const nodes = [
      other('mirror', 'm'),
      other('queue', 'q'),
      nf('a'),
      nf('b'),
      other('merge', 'n'),
      other('exit', 'c.exit'),
    ];
    const edges = [
      edge(null, 'm'),
      edge('m', 'a'),
      edge('m', 'q'),
      edge('q', 'b'),
      edge('a', 'n'),
      edge('b', 'n'),
      edge('n', 'c.exit'),
    ];
    expect(sections({ nodes, edges }).map(([, , text]) => text)).toEqual([
      'the switch > a (server-1) or b (server-1)',
      'the switch > the exit',
    ]);
  });

  it('do not begin at an NF that also passes replies on, which leave elsewhere', () => {
    const nodes = [nf('nat'), other('exit', 'c.exit'), other('exit', 'c.return')];
    const edges = [edge(null, 'nat'), edge('nat', 'c.exit'), edge('nat', 'c.return', 'return')];
    expect(sections({ nodes, edges }).map(([, , text]) => text)).toEqual([
      'the switch > nat (server-1)',
      'the switch > the exit',
    ]);
  });
});
