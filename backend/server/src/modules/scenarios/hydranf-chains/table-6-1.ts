import { ChainDefinition } from '@orrery/contract';

/** A chain of the experiments, with our nearest equivalents of its NFs. */
export interface Sfc {
  readonly id: string;
  /** As the publication has it. */
  readonly title: string;
  readonly nfs: readonly { readonly id: string; readonly nf: string; readonly config: Record<string, unknown> }[];
  readonly note: string;
}

const nf = (id: string, kind: string, config: Record<string, unknown> = {}) => ({ id, nf: kind, config });
const NAT = nf('nat', 'nat', { external_addresses: ['198.18.61.1'] });
const KEY = '61'.repeat(32);

/** HydraNF Table 6.1, and the synthetic chains of Figure 6.10 with NFs of equal cost. `address`: of the receiving host. */
export function sfcs(address: string): readonly Sfc[] {
  const balancer = nf('lb', 'load-balancer', {
    mode: 'direct',
    virtual_address: address,
    backends: [{ address }],
    external_addresses: ['198.18.61.2'],
  });
  return [
    {
      id: '1',
      title: 'IDS, NAT, FW',
      nfs: [nf('ids', 'ids'), NAT, nf('fw', 'firewall')],
      note: 'chains 1 and 2: NAT before firewall stays, as the firewall reads what NAT writes',
    },
    {
      id: '3',
      title: 'VPN, Monitor, FW, LB',
      nfs: [
        nf('vpn', 'crypto-tunnel', { key: KEY, mode: 'encrypt' }),
        nf('vpn-end', 'crypto-tunnel', { key: KEY, mode: 'decrypt' }),
        nf('mon', 'monitor'),
        nf('fw', 'firewall'),
        balancer,
      ],
      note: 'with the far end of the tunnel; firewall before balancer stays, as it may drop what the balancer counts',
    },
    {
      id: '4',
      title: 'NAT, FW, IDS, LB',
      nfs: [NAT, nf('fw', 'firewall'), nf('ids', 'ids'), balancer],
      note: 'NAT before firewall stays, as the firewall reads what NAT writes',
    },
    {
      id: 'synthetic',
      title: 'three NFs of 100 us',
      nfs: [nf('x', 'busy-loop'), nf('y', 'busy-loop'), nf('z', 'busy-loop')],
      note: 'NFs of equal cost that do not depend on each other',
    },
  ];
}

export function definitionOf(sfc: Pick<Sfc, 'id' | 'nfs'>, from: string, address: string): ChainDefinition {
  const path = ['in', ...sfc.nfs.map(({ id }) => id), 'out'];
  return ChainDefinition.parse({
    name: `scenario-hydranf-${sfc.id}`,
    title: `Scenario: HydraNF ${sfc.id}`,
    description: 'Created by a scenario of HydraNF, which also removes it.',
    traffic_class: {
      from: [from],
      match: [
        { attribute: 'ip.dst', value: address },
        { attribute: 'ip.proto', value: 'udp' },
      ],
      rate_bps: 1_000_000,
      packet_bytes: 200,
    },
    nodes: [
      { id: 'in', kind: 'ingress' },
      ...sfc.nfs.map((each) => ({ ...each, kind: 'nf' })),
      { id: 'out', kind: 'egress' },
    ],
    edges: path.slice(1).map((node, n) => ({ id: `e${n + 1}`, from: path[n], to: node })),
    slos: [50, 99].map((percentile) => ({ id: `p${percentile}`, kind: 'latency', percentile, max_us: 10_000_000 })),
  });
}
