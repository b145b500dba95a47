import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ChainDefinition, Infrastructure } from '@orrery/contract';

const example = (name: string): unknown =>
  JSON.parse(
    readFileSync(fileURLToPath(new URL(`../../../contract/examples/valid/${name}.json`, import.meta.url)), 'utf8'),
  );

/** Three servers, four hosts, one switch, all emulated. */
export const RACK = Infrastructure.parse(example('Infrastructure.rack'));
export const IDS_CHAIN = ChainDefinition.parse(example('ChainDefinition.e2-figure-3-1'));
export const NAT_CHAIN = ChainDefinition.parse(example('ChainDefinition.linear'));

/** A chain of one monitor for the traffic of a client to the servers' addresses. */
export function monitorChain(name: string, from = 'client-1', maxUs = 20_000): ChainDefinition {
  return ChainDefinition.parse({
    name,
    title: `Chain ${name}`,
    traffic_class: { from: [from], match: [{ attribute: 'ip.dst', value: '10.0.2.0/24' }], rate_bps: 1_000_000 },
    nodes: [
      { id: 'in', kind: 'ingress' },
      { id: 'monitor', kind: 'nf', nf: 'monitor' },
      { id: 'out', kind: 'egress' },
    ],
    edges: [
      { id: 'e1', from: 'in', to: 'monitor' },
      { id: 'e2', from: 'monitor', to: 'out' },
    ],
    slos: [{ id: 'fast', kind: 'latency', percentile: 99, max_us: maxUs }],
  });
}

/** The rack with the host of a chain at an edge switch, from which links lead to the leaf, also over the others. */
export function withSwitches(edge: string, ...others: string[]): Infrastructure {
  const [leaf] = RACK.switches;
  const host = monitorChain('a').traffic_class.from[0]!;
  const trunk = (a: string, b: string) => ({
    ...RACK.links[0]!,
    id: `${a}-${b}`,
    a: { node: a, port: `to-${b}` },
    b: { node: b, port: `to-${a}` },
  });
  return Infrastructure.parse({
    ...RACK,
    switches: [...RACK.switches, ...[edge, ...others].map((id) => ({ ...leaf!, id }))],
    links: [
      ...RACK.links.map((link) => (link.a.node === host ? { ...link, b: { node: edge, port: 'to-host' } } : link)),
      ...(others.length === 1 ? [trunk(edge, leaf!.id)] : []),
      ...others.flatMap((id) => [trunk(edge, id), trunk(id, leaf!.id)]),
    ],
  });
}
