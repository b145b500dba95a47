import { ChainDefinition } from '@orrery/contract';

interface Pair {
  /** NF of one instance in front of the IDS. */
  readonly first: string;
  readonly rate_bps: number;
}

/** A light NF and an IDS behind it, whose flows its engine splits. */
export function pairChain({ first, rate_bps }: Pair): ChainDefinition {
  return ChainDefinition.parse({
    name: 'web',
    title: 'Web',
    traffic_class: {
      from: ['client-1'],
      match: [{ attribute: 'ip.dst', value: '10.0.2.0/24' }],
      rate_bps,
      packet_bytes: 64,
    },
    nodes: [
      { id: 'in', kind: 'ingress' },
      { id: 'fw', kind: 'nf', nf: first },
      { id: 'ids', kind: 'nf', nf: 'ids' },
      { id: 'out', kind: 'egress' },
    ],
    edges: [
      { id: 'e1', from: 'in', to: 'fw' },
      { id: 'e2', from: 'fw', to: 'ids' },
      { id: 'e3', from: 'ids', to: 'out' },
    ],
    slos: [],
  });
}
