import { ChainDefinition } from '@orrery/contract';

export const CHAIN = 'scenario-e2-split';
/** The NF that is split: it keeps state by flow, so that a flow has to stay at its instance. */
export const SPLIT_NF = 'monitor';
export const NF_KINDS = ['firewall', SPLIT_NF] as const;

interface Shape {
  readonly from: string;
  readonly address: string;
  readonly port: number;
  readonly rate_bps: number;
  /** Whether the NF that is split is the first one. */
  readonly isFirst: boolean;
}

/** Behind the firewall, an engine shares out the flows of the NF that is split; in front of it, switches do (decision 0039). */
export function definitionOf({ from, address, port, rate_bps, isFirst }: Shape): ChainDefinition {
  const path = ['in', ...(isFirst ? [SPLIT_NF, 'firewall'] : ['firewall', SPLIT_NF]), 'out'];
  return ChainDefinition.parse({
    name: CHAIN,
    title: 'Scenario: an instance is split',
    description: 'Created by the scenario “e2-split”, which also removes it.',
    traffic_class: {
      from: [from],
      match: [
        { attribute: 'ip.dst', value: address },
        { attribute: 'ip.proto', value: 17 },
        { attribute: 'port.dst', value: port },
      ],
      rate_bps,
      packet_bytes: 1400,
    },
    nodes: [
      { id: 'in', kind: 'ingress' },
      { id: 'firewall', kind: 'nf', nf: 'firewall', config: { default_action: 'allow', rules: [] } },
      { id: SPLIT_NF, kind: 'nf', nf: SPLIT_NF },
      { id: 'out', kind: 'egress' },
    ],
    edges: path.slice(1).map((to, n) => ({ id: `e${n + 1}`, from: path[n], to })),
  });
}
