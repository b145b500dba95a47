import { NfDescriptor } from '@orrery/contract';

const FIVE_TUPLE = ['ip.src', 'ip.dst', 'ip.proto', 'port.src', 'port.dst'];

type Overrides = Omit<Partial<NfDescriptor>, 'implementations'> & { cycles?: number; memory_bytes?: number };

/** A descriptor with the fields that a test cares about; the rest is plain. */
export function descriptor(
  id: string,
  { cycles = 1000, memory_bytes = 1_000_000, ...rest }: Overrides = {},
): NfDescriptor {
  return NfDescriptor.parse({
    id,
    title: id,
    summary: `test NF ${id}`,
    category: 'forwarding',
    icon: 'box',
    version: '1.0.0',
    attributes: [],
    actions: { reads: [], writes: [], may_drop: false },
    state: { kind: 'flow', key: FIVE_TUPLE },
    affinity: FIVE_TUPLE,
    scaling: { max_instances: 64 },
    implementations: [
      {
        kind: 'software',
        driver: 'engine',
        cost: { cycles_per_packet: cycles, base_latency_us: 5, memory_bytes },
      },
    ],
    config_schema: { type: 'object' },
    default_config: {},
    ...rest,
  });
}

export const MONITOR = descriptor('monitor');
export const FIREWALL = descriptor('firewall', {
  actions: { reads: ['ip.src'], writes: [], adds: [], removes: [], may_drop: true },
  config_schema: {
    type: 'object',
    properties: {
      default: { enum: ['allow', 'deny'] },
      rules: {
        type: 'array',
        items: { type: 'object', required: ['action'], properties: { action: { type: 'string' } } },
      },
    },
    additionalProperties: false,
  },
  default_config: { default: 'allow' },
});
export const IDS = descriptor('ids', {
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
export const CACHE = descriptor('web-cache');
export const NORMALIZER = descriptor('normalizer');
export const NAT = descriptor('nat', {
  actions: { reads: ['ip.src'], writes: ['ip.src', 'port.src'], adds: [], removes: [], may_drop: true },
  return_traffic: true,
  config_schema: {
    type: 'object',
    properties: { external_addresses: { type: 'array', minItems: 1, items: { type: 'string' } } },
    required: ['external_addresses'],
    additionalProperties: false,
  },
  default_config: { external_addresses: ['198.18.0.1'] },
});

export const CATALOGUE = [MONITOR, FIREWALL, IDS, CACHE, NORMALIZER, NAT];
