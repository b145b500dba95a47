import type { SwitchAbilities } from '@orrery/contract';

/**
 * Assumed abilities of a switch whose agent has never connected: masked entries, select groups and rewriting, which every
 * driver currently has. Replaced by what its agent reports.
 */
export const ASSUMED_ABILITIES: SwitchAbilities = {
  match: {
    'eth.src': { kind: 'mask', negation: false },
    'eth.dst': { kind: 'mask', negation: false },
    'eth.type': { kind: 'exact', negation: false },
    'ip.src': { kind: 'mask', negation: false },
    'ip.dst': { kind: 'mask', negation: false },
    'ip.proto': { kind: 'mask', negation: false },
    'ip.fragment': { kind: 'exact', negation: false },
    'port.src': { kind: 'mask', negation: false },
    'port.dst': { kind: 'mask', negation: false },
    from_host: { kind: 'exact', negation: false },
  },
  groups: { select: ['ip.src', 'ip.dst', 'ip.proto', 'port.src', 'port.dst'], all: false, fast_failover: false },
  ipv6: true,
  meters: false,
  mirror: false,
  rewrite: ['eth.src', 'eth.dst', 'ttl'],
  table_entries: {},
  entries: 16_384,
};
