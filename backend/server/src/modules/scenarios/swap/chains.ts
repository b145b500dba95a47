import { ChainDefinition } from '@orrery/contract';

function chain(name: string, title: string, from: string, node: string, nf: string): ChainDefinition {
  return ChainDefinition.parse({
    name,
    title,
    description: 'Created by the scenario “reconfiguration”, which also removes it.',
    traffic_class: {
      from: [from],
      match: [{ attribute: 'ip.dst', value: '10.0.2.0/24' }],
      rate_bps: 2_000_000,
      packet_bytes: 1200,
    },
    nodes: [
      { id: 'in', kind: 'ingress' },
      { id: node, kind: 'nf', nf },
      { id: 'out', kind: 'egress' },
    ],
    edges: [
      { id: 'e1', from: 'in', to: node },
      { id: 'e2', from: node, to: 'out' },
    ],
  });
}

/** Web traffic that is inspected for SQL injection. */
export function attackChain(): ChainDefinition {
  return chain('scenario-sqli', 'Scenario: SQL injection', 'client-3', 'sqli', 'sqli-detector');
}

/** Web traffic whose SYNs are counted. */
export function synChain(): ChainDefinition {
  return chain('scenario-ddos', 'Scenario: DDoS', 'client-4', 'ddos', 'ddos-detector');
}
