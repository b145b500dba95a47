import { ChainDefinition } from '@orrery/contract';

export const CHAIN = 'scenario-e2-load-wave';
/** The NFs that follow the load: both keep state by flow. */
export const SCALED = ['ids', 'elephant-detector'] as const;
export const NF_KINDS = ['firewall', ...SCALED] as const;
export const PACKET_BYTES = 1400;

interface Shape {
  readonly from: string;
  readonly address: string;
  readonly port: number;
  readonly rate_bps: number;
  readonly cpu_limit: number;
}

/** The firewall runs in an engine, which shares out the flows behind it; the others in containers that may use a part of a core. */
export function definitionOf({ from, address, port, rate_bps, cpu_limit }: Shape): ChainDefinition {
  return ChainDefinition.parse({
    name: CHAIN,
    title: 'Scenario: instances follow the load',
    description: 'Created by the scenario “e2-load-wave”, which also removes it.',
    traffic_class: {
      from: [from],
      match: [
        { attribute: 'ip.dst', value: address },
        { attribute: 'ip.proto', value: 17 },
        { attribute: 'port.dst', value: port },
      ],
      rate_bps,
      packet_bytes: PACKET_BYTES,
    },
    nodes: [
      { id: 'in', kind: 'ingress' },
      { id: 'firewall', kind: 'nf', nf: 'firewall', config: { default_action: 'allow', rules: [] } },
      ...SCALED.map((nf) => ({ id: nf, kind: 'nf', nf, cpu_limit })),
      { id: 'out', kind: 'egress' },
    ],
    edges: ['in', ...NF_KINDS].map((from, i) => ({
      id: `e${i + 1}`,
      from,
      to: [...NF_KINDS, 'out'][i],
    })),
  });
}
