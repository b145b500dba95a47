import type { FabricSpec, GraphEdge, GraphNode, InstanceGraph } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { RACK } from '../../testing/fixtures.js';
import { refusedKey, sectionsOf } from './sections.js';

const nf = (id: string, server = 'server-1') => ({ kind: 'nf', id, chain_id: 'c', server }) as unknown as GraphNode;
const other = (kind: 'mirror' | 'merge' | 'queue' | 'exit', id: string) =>
  ({ kind, id, chain_id: 'c', direction: 'forward', server: 'server-1', within: null }) as unknown as GraphNode;
const joint = (id: string, mirror: string) => ({ ...other('merge', id), mirror }) as unknown as GraphNode;
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

  it('do not end at the exit where an NF answers packets itself', () => {
    const proxy = { ...nf('a'), nf: 'proxy' } as GraphNode;
    const nodes = [proxy, nf('b'), other('exit', 'c.exit'), other('exit', 'c.return')];
    const edges = [edge(null, 'a'), edge('a', 'b'), edge('b', 'c.exit'), edge('a', 'c.return', 'return')];
    const plan = { graph: { nodes, edges }, fabric: FABRIC, chains: [{ chain_id: 'c' }] };
    const whole = (answers: boolean) =>
      sectionsOf(plan, RACK.switches, undefined, (id) => answers && id === 'proxy').at(-1);
    expect(whole(true)?.to.receives).toEqual(['chain/c/pps', refusedKey('c'), 'instance/a/out_pps']);
    expect(whole(false)?.to.receives).toEqual(['chain/c/pps', refusedKey('c')]);
  });

  it('lead from hosts, or from the server of an NF, to the servers of the next NFs', () => {
    const nodes = [nf('a'), nf('b.0'), nf('b.1', 'server-2'), other('exit', 'c.exit')];
    const edges = [edge(null, 'a'), edge('a', 'b.0'), edge('a', 'b.1'), edge('b.0', 'c.exit')];
    const found = sectionsOf({ graph: { nodes, edges }, fabric: FABRIC, chains: [{ chain_id: 'c' }] }, RACK.switches);
    expect(found.filter(({ scope }) => scope !== 'chain').map(({ way }) => way)).toEqual([
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

  it('lead over the queues of a planned schedule', () => {
    const nodes = [other('queue', 'q'), nf('a'), other('exit', 'c.exit')];
    const edges = [edge(null, 'q'), edge('q', 'a'), edge('a', 'c.exit')];
    expect(sections({ nodes, edges })).toEqual([
      [RULES, ['module/q/pps'], 'the switch > q (server-1)'],
      [['module/q/out_pps'], ['instance/a/pps'], 'q (server-1) > a (server-1)'],
      [['instance/a/out_pps'], ['chain/c/pps'], 'a (server-1) > the exit'],
      [RULES, ['chain/c/pps', refusedKey('c')], 'the switch > the exit'],
    ]);
  });

  it('lead from a mirror into each branch, and over the whole step: a merge cannot tell of which branch a copy is missing', () => {
    const nodes = [
      other('mirror', 'm'),
      nf('a.0', 'server-2'),
      nf('a.1', 'server-3'),
      nf('b'),
      joint('n', 'm'),
      other('exit', 'c.exit'),
    ];
    const copy = (from: string, to: string, branch: number) => ({ ...edge(from, to), copy: branch });
    const edges = [
      edge(null, 'm'),
      copy('m', 'a.0', 0),
      copy('m', 'a.1', 0),
      copy('m', 'b', 1),
      copy('m', 'n', 2),
      edge('a.0', 'n'),
      edge('a.1', 'n'),
      edge('b', 'n'),
      edge('a.0', 'n', 'no-op'),
      edge('n', 'c.exit'),
    ];
    expect(sections({ nodes, edges })).toEqual([
      [RULES, ['module/m/pps'], 'the switch > m (server-1)'],
      [['module/m/pps'], ['instance/a.0/pps', 'instance/a.1/pps'], 'm (server-1) > a.0 (server-2) or a.1 (server-3)'],
      [['module/m/pps'], ['instance/b/pps'], 'm (server-1) > b (server-1)'],
      [['module/n/out_pps'], ['chain/c/pps'], 'n (server-1) > the exit'],
      [['module/m/pps'], ['module/n/out_pps', refusedKey('n')], 'a.0 (server-2) or a.1 (server-3) > n (server-1)'],
      [RULES, ['chain/c/pps', refusedKey('c')], 'the switch > the exit'],
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
