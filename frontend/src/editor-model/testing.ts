import type { ChainDefinition, NfDescriptor } from '@orrery/contract';

/** A descriptor with as little in it as the contract allows. */
export function descriptor(id: string, overrides: Partial<NfDescriptor> = {}): NfDescriptor {
  return {
    id,
    title: id,
    summary: '',
    category: 'forwarding',
    icon: 'box',
    version: '1.0.0',
    attributes: [],
    actions: { reads: [], writes: [], adds: [], removes: [], may_drop: false },
    state: { kind: 'none', key: [] },
    affinity: [],
    return_traffic: false,
    scaling: { max_instances: 8 },
    implementations: [
      {
        kind: 'software',
        driver: 'engine',
        cost: { cycles_per_packet: 100, cycles_per_byte: 0, base_latency_us: 1, memory_bytes: 0 },
        resources: {},
      },
    ],
    config_schema: { type: 'object', properties: {} },
    default_config: {},
    ...overrides,
  };
}

export const IDS = descriptor('ids', {
  title: 'IDS',
  attributes: [
    {
      name: 'verdict',
      title: 'Verdict',
      values: [
        { value: 'safe', title: 'Safe' },
        { value: 'unsafe', title: 'Unsafe' },
      ],
    },
  ],
});
export const MONITOR = descriptor('monitor', { title: 'Monitor', default_config: { table_size: 1024 } });

/** A chain of the given nodes; `a>b` is an edge, `ingress` and `egress` are the ends and everything else a monitor. */
export function chain(...edges: string[]): ChainDefinition {
  const pairs = edges.map((edge) => edge.split('>') as [string, string]);
  const ids = [...new Set(pairs.flat())];
  return {
    name: 'demo',
    title: 'Demo',
    description: '',
    traffic_class: { from: ['client-1'], match: [], rate_bps: 1e7, packet_bytes: 800 },
    nodes: ids.map((id, index) => ({
      id,
      position: { x: index * 280, y: 0 },
      ...(id === 'ingress' || id === 'egress' ? { kind: id } : { kind: 'nf', nf: 'monitor', config: {} }),
    })),
    edges: pairs.map(([from, to], index) => ({ id: `e${index + 1}`, from, to, filter: [] })),
    slos: [],
    class_slos: [],
  };
}
