import { ChainDefinition } from '@orrery/contract';

export const CHAIN = 'scenario-overload-heal';
/** In front of the NF that is scaled, so that an engine shares out its flows. */
export const FIRST = 'firewall';
/** The NF that is overloaded, and then lost with its server. */
export const SCALED = 'ids';
export const NF_KINDS = [FIRST, SCALED] as const;
export const PACKET_BYTES = 700;
/** Of the objectives: the budget of an hour is 36 s. */
const COUNTED = { goal: 0.99, period_s: 3600 } as const;

export interface Shape {
  readonly from: string;
  readonly address: string;
  readonly rate_bps: number;
  readonly cpu_limit: number;
}

export function objectives(p99_ms: number): ChainDefinition['slos'] {
  return [
    { id: 'fast', kind: 'latency', percentile: 99, max_us: 1000 * p99_ms, ...COUNTED },
    { id: 'complete', kind: 'loss', max_share: 0.001, ...COUNTED },
    { id: 'up', kind: 'availability', min_share: 0.5, ...COUNTED },
  ];
}

/** Of all UDP between the two hosts: each load has a port of its own. */
export function definitionOf(
  { from, address, rate_bps, cpu_limit }: Shape,
  slos: ChainDefinition['slos'],
): ChainDefinition {
  return ChainDefinition.parse({
    name: CHAIN,
    title: 'Scenario: overload and a lost server',
    description: 'Created by the scenario “overload-heal”, which also removes it.',
    traffic_class: {
      from: [from],
      match: [
        { attribute: 'ip.dst', value: address },
        { attribute: 'ip.proto', value: 17 },
      ],
      rate_bps,
      packet_bytes: PACKET_BYTES,
    },
    nodes: [
      { id: 'in', kind: 'ingress' },
      { id: FIRST, kind: 'nf', nf: FIRST, config: { default_action: 'allow', rules: [] } },
      { id: SCALED, kind: 'nf', nf: SCALED, cpu_limit },
      { id: 'out', kind: 'egress' },
    ],
    edges: [
      { id: 'e1', from: 'in', to: FIRST },
      { id: 'e2', from: FIRST, to: SCALED },
      { id: 'e3', from: SCALED, to: 'out' },
    ],
    slos,
  });
}
