import { ChainDefinition, type PlannedChain } from '@orrery/contract';

type Term = [attribute: string, op: 'is' | 'is-not', value: string | number];
type Edge = [from: string, to: string, filter?: Term[], rate_bps?: number];
interface Rest {
  name?: string;
  from?: string[];
  match?: Term[];
  rate_bps?: number;
  slos?: unknown[];
  config?: Record<string, Record<string, unknown>>;
}

const filter = (terms: Term[] = []) => terms.map(([attribute, op, value]) => ({ attribute, op, value }));

/** A definition from `node: nf` and a list of edges; `in` is the ingress and `out` the egress. */
export function chainOf(nfs: Record<string, string>, edges: Edge[], rest: Rest = {}): ChainDefinition {
  const { name = 'p', from = ['client-1'], match, rate_bps = 10_000_000, slos = [], config = {} } = rest;
  return ChainDefinition.parse({
    name,
    title: name,
    traffic_class: { from, match: filter(match), rate_bps },
    nodes: [
      { id: 'in', kind: 'ingress' },
      ...Object.entries(nfs).map(([id, nf]) => ({ id, kind: 'nf', nf, config: config[id] ?? {} })),
      { id: 'out', kind: 'egress' },
    ],
    edges: edges.map(([from, to, terms, rate], i) => ({
      id: `e${i}`,
      from,
      to,
      filter: filter(terms),
      ...(rate === undefined ? {} : { rate_bps: rate }),
    })),
    slos,
  });
}

/** Chain `p-<i>`: a monitor, a firewall and an IDS for the traffic to a port of its own. */
export function ofOwnPort(i: number, rate_bps: number, version = 1): PlannedChain {
  const definition = chainOf({ mon: 'monitor', fw: 'firewall', ids: 'ids' }, [
    ['in', 'mon'],
    ['mon', 'fw'],
    ['fw', 'ids'],
    ['ids', 'out'],
  ]);
  const match = [{ attribute: 'port.dst', op: 'is' as const, value: 1000 + i }];
  const traffic_class = { ...definition.traffic_class, match, rate_bps, packet_bytes: 800 };
  return { chain_id: `p-${i}`, version, definition: { ...definition, name: `c${i}`, traffic_class } };
}

/** E2 figure 3.1. */
export const FIGURE_3_1 = chainOf(
  { ids: 'ids', cache: 'web-cache', norm: 'normalizer', mon: 'monitor' },
  [
    ['in', 'ids'],
    [
      'ids',
      'cache',
      [
        ['ids.verdict', 'is', 'safe'],
        ['ip.proto', 'is', 'tcp'],
        ['port.dst', 'is', 80],
      ],
    ],
    [
      'ids',
      'mon',
      [
        ['ids.verdict', 'is', 'safe'],
        ['port.dst', 'is-not', 80],
      ],
    ],
    [
      'ids',
      'mon',
      [
        ['ids.verdict', 'is', 'safe'],
        ['ip.proto', 'is-not', 'tcp'],
        ['port.dst', 'is', 80],
      ],
    ],
    ['ids', 'norm', [['ids.verdict', 'is', 'unsafe']]],
    ['norm', 'mon'],
    ['cache', 'mon'],
    ['mon', 'out'],
  ],
  { name: 'fig31' },
);
