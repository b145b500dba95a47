import { Infrastructure } from '@orrery/contract';
import { expect, it } from 'vitest';
import example from '../../../contract/examples/valid/Infrastructure.two-homes.json' with { type: 'json' };
import { interfacesOf } from './node-interfaces.js';

const TWO_HOMES = Infrastructure.parse(example);
const told = (node: Parameters<typeof interfacesOf>[0]) =>
  interfacesOf(node, TWO_HOMES).map(({ port, link, peer, mac, addresses }) => [port, link.id, peer, mac, addresses]);

it('gives each address to the interface that it names, or to the first', () => {
  expect(told(TWO_HOMES.hosts[0]!)).toEqual([
    ['eth0', 'client-1-leaf-1', { node: 'leaf-1', port: 'p2' }, '02:00:0a:00:01:01', ['10.0.1.1', 'fd00::1:1']],
    ['eth1', 'client-1-leaf-2', { node: 'leaf-2', port: 'p2' }, '02:0d:21:32:cc:26', ['10.0.1.2']],
  ]);
});

it("gives the data plane's network card no address", () => {
  expect(told(TWO_HOMES.servers[0]!).map(([port, , , , addresses]) => [port, addresses])).toEqual([
    ['nic0', []],
    ['nic1', ['10.0.3.1', 'fd00::3:1']],
  ]);
});
