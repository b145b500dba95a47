import { ChainDefinition } from '@orrery/contract';

export const CHAIN = 'scenario-e2-load-wave';
/** The NFs that follow the load. The IDS keeps state by flow; what a packet takes of the VPN, a stand-in, is set. */
export const SCALED = ['ids', 'vpn'] as const;
export const NF_KINDS = ['firewall', 'ids', 'busy-loop'] as const;
const IN_ORDER = ['firewall', ...SCALED] as const;
/** Most of a core that an instance may use, as part of what one of the VPN may: a packet costs the IDS less. */
export const PART_OF_LIMIT = { ids: 0.5, vpn: 1 } as const;
export const PACKET_BYTES = 1400;

interface Shape {
  readonly from: string;
  readonly address: string;
  readonly port: number;
  readonly rate_bps: number;
  readonly cpu_limit: number;
  readonly packet_us: number;
}

/** The firewall runs in an engine, which shares out the flows behind it; the others in containers that may use a part of a core. */
export function definitionOf({ from, address, port, rate_bps, cpu_limit, packet_us }: Shape): ChainDefinition {
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
      { id: 'ids', kind: 'nf', nf: 'ids', cpu_limit: PART_OF_LIMIT.ids * cpu_limit },
      { id: 'vpn', kind: 'nf', nf: 'busy-loop', config: { packet_us }, cpu_limit: PART_OF_LIMIT.vpn * cpu_limit },
      { id: 'out', kind: 'egress' },
    ],
    edges: ['in', ...IN_ORDER].map((from, i) => ({
      id: `e${i + 1}`,
      from,
      to: [...IN_ORDER, 'out'][i],
    })),
  });
}
