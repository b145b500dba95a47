import { ChainDefinition } from '@orrery/contract';
import type { z } from 'zod';

type Shape = Pick<z.input<typeof ChainDefinition>, 'nodes' | 'edges'>;

/** One way to build a chain. */
export interface Form extends Shape {
  readonly id: string;
  readonly title: string;
}

/** What is sent through the chains of a comparison. */
export type Traffic = 'probes' | 'stream' | 'requests';

export const COMPARISONS = ['path', 'metadata', 'streams', 'url'] as const;
export type ComparisonId = (typeof COMPARISONS)[number];

/** Forms of a chain that do the same, of E2 3.6.1. */
export interface Comparison {
  readonly id: ComparisonId;
  readonly title: string;
  readonly traffic: Traffic;
  /** They are flooded, too, to see how many packets they carry. */
  readonly isFlooded: boolean;
  readonly forms: readonly Form[];
}

const INGRESS = { id: 'in', kind: 'ingress' } as const;
const EGRESS = { id: 'out', kind: 'egress' } as const;

type Config = Record<string, unknown>;
type Filter = Shape['edges'][number]['filter'];

const nf = (id: string, kind: string, config: Config = {}) => ({ id, kind: 'nf' as const, nf: kind, config });

function line(...nfs: ReturnType<typeof nf>[]): Shape {
  const path = ['in', ...nfs.map(({ id }) => id), 'out'];
  return {
    nodes: [INGRESS, ...nfs, EGRESS],
    edges: path.slice(1).map((to, n) => ({ id: `e${n + 1}`, from: path[n]!, to })),
  };
}

/** NFs in a line; packets that match go through one more NF behind them, the others leave. */
function branch(nfs: ReturnType<typeof nf>[], attribute: string, value: string, then: ReturnType<typeof nf>): Shape {
  const { nodes, edges } = line(...nfs);
  const from = nfs.at(-1)!.id;
  const filter = (op: 'is' | 'is-not'): Filter => [{ attribute, op, value }];
  return {
    nodes: [...nodes, then],
    edges: [
      ...edges.filter(({ to }) => to !== 'out'),
      { id: 'matching', from, to: then.id, filter: filter('is') },
      { id: 'others', from, to: 'out', filter: filter('is-not') },
      { id: 'leaving', from: then.id, to: 'out' },
    ],
  };
}

const BLOCKED = { rules: [{ action: 'block', host: 'blocked.example' }] };
const STREAMS = { inspect: 'streams' };
const cdn = nf('cdn', 'l2-forwarder');

export const comparisons: readonly Comparison[] = [
  {
    id: 'path',
    title: 'NF to NF, native and over raw sockets',
    traffic: 'probes',
    isFlooded: true,
    forms: [
      { id: 'native', title: 'native', ...line(nf('a', 'l2-forwarder'), nf('b', 'l2-forwarder')) },
      { id: 'legacy', title: 'raw sockets', ...line(nf('a', 'legacy-forwarder'), nf('b', 'legacy-forwarder')) },
    ],
  },
  {
    id: 'metadata',
    title: 'branching by a header field and by metadata',
    traffic: 'probes',
    isFlooded: false,
    forms: [
      { id: 'header', title: 'header', ...branch([nf('size', 'elephant-detector')], 'ip.proto', 'udp', cdn) },
      { id: 'metadata', title: 'metadata', ...branch([nf('size', 'elephant-detector')], 'size.size', 'mouse', cdn) },
    ],
  },
  {
    id: 'streams',
    title: 'streams reassembled for each NF and once',
    traffic: 'stream',
    isFlooded: false,
    forms: [
      { id: 'ids', title: 'IDS alone', ...line(nf('ids', 'ids', STREAMS)) },
      { id: 'sqli', title: 'SQL injection detector alone', ...line(nf('sqli', 'sqli-detector', STREAMS)) },
      { id: 'both', title: 'both', ...line(nf('ids', 'ids', STREAMS), nf('sqli', 'sqli-detector', STREAMS)) },
    ],
  },
  {
    id: 'url',
    title: 'branching by a URL, told by the logger and by a second parser',
    traffic: 'requests',
    isFlooded: false,
    forms: [
      {
        id: 'told',
        title: 'metadata',
        ...branch([nf('logger', 'url-filter', BLOCKED)], 'logger.verdict', 'allowed', cdn),
      },
      {
        id: 'parsed',
        title: 'second parser',
        ...branch(
          [nf('logger', 'url-filter', BLOCKED), nf('parser', 'url-filter', BLOCKED)],
          'parser.verdict',
          'allowed',
          cdn,
        ),
      },
    ],
  },
];

export const nameOf = (comparison: Comparison, form: Form) => `scenario-e2-${comparison.id}-${form.id}`;

export function definitionOf(comparison: Comparison, form: Form, from: string, address: string): ChainDefinition {
  return ChainDefinition.parse({
    name: nameOf(comparison, form),
    title: `Scenario: E2 ${comparison.id}, ${form.title}`,
    description: 'Created by the scenario “e2-native”, which also removes it.',
    traffic_class: {
      from: [from],
      match: [{ attribute: 'ip.dst', value: address }],
      rate_bps: 1_000_000,
      packet_bytes: 200,
    },
    nodes: form.nodes,
    edges: form.edges,
    slos: [],
  });
}
