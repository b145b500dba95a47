import { FabricRule, Infrastructure } from '@orrery/contract';
import { expect, it } from 'vitest';
import { carriersOf } from './carriers.js';

const link = (id: string, a: string, b: string, port: string) => ({
  id,
  a: { node: a, port: 'nic0' },
  b: { node: b, port },
  bandwidth_bps: 1e9,
});

/** A host and a server at each of two switches. */
const PAIR = Infrastructure.parse({
  name: 'pair',
  servers: [1, 2].map((n) => ({
    id: `server-${n}`,
    origin: 'twin',
    cores: 1,
    ghz: 1,
    memory_bytes: 0,
    nics: [{ name: 'nic0', bandwidth_bps: 1e9 }],
  })),
  switches: [1, 2].map((n) => ({
    id: `sw-${n}`,
    origin: 'twin',
    driver: 'ovs',
    ports: 8,
    table_entries: 5000,
    actions: [],
  })),
  hosts: [1, 2].map((n) => ({
    id: `host-${n}`,
    origin: 'twin',
    role: 'client',
    addresses: [{ address: `10.0.0.${n}` }],
    mac: `02:00:00:00:00:0${n}`,
  })),
  links: [
    ...[1, 2].flatMap((n) => [
      link(`s-${n}`, `server-${n}`, `sw-${n}`, 'ps'),
      link(`h-${n}`, `host-${n}`, `sw-${n}`, 'ph'),
    ]),
    link('trunk', 'sw-1', 'sw-2', 'left'),
  ],
});

function classify(port: number, host = 'host-1'): FabricRule {
  return FabricRule.parse({
    id: `classify/${host}.${port}`,
    chain_id: 'ch-1',
    kind: 'classify',
    priority: 100,
    from_hosts: [host],
    from_servers: [],
    match: [{ field: 'port.dst', lo: port, hi: port }],
    hop: null,
    key: [],
    targets: [{ range: { lo: 0, hi: 65536 }, hop: 1, server: 'server-1' }],
  });
}

it('the switches that carry a change are found among thousands of rules, wherever the rule of one stands', () => {
  const many = Array.from({ length: 1000 }, (_, i) => classify(i + 1));
  const carriers = (before: readonly FabricRule[], after: readonly FabricRule[]) =>
    [...carriersOf(PAIR, new Map(), { before, after })].sort();
  expect(carriers([], many)).toEqual(['sw-1']);
  expect(carriers(many, many)).toEqual([]);
  expect(carriers([...many, classify(1, 'host-2')], many)).toEqual(['sw-1', 'sw-2']);
  expect(carriers([], [classify(1, 'host-2'), ...many])).toEqual(['sw-1', 'sw-2']);
});

it('of thousands of rules one is lowered for each switch that has entries, and none for one that has not', () => {
  let lowered = 0;
  const many = Array.from({ length: 1000 }, (_, i): FabricRule => {
    const { match, ...rule } = classify(i + 1);
    return Object.defineProperty({ ...rule, match }, 'match', {
      enumerable: true,
      get: () => {
        lowered++;
        return match;
      },
    });
  });
  expect([...carriersOf(PAIR, new Map(), { before: [], after: many })]).toEqual(['sw-1']);
  expect(lowered).toBe(1);
});
