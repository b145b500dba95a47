import { FabricRule, Infrastructure } from '@orrery/contract';

/** Switches in a row, each with a server `server-N` and a host `host-N`, and the number of their entries. */
export function row(switches: number, table_entries = 1000): Infrastructure {
  const numbers = Array.from({ length: switches }, (_, i) => i + 1);
  const link = (id: string, a: [string, string], b: [string, string]) => ({
    id,
    a: { node: a[0], port: a[1] },
    b: { node: b[0], port: b[1] },
    bandwidth_bps: 1e9,
  });
  return Infrastructure.parse({
    name: 'row',
    servers: numbers.map((n) => ({
      id: `server-${n}`,
      origin: 'twin',
      cores: 1,
      ghz: 1,
      memory_bytes: 0,
      nics: [{ name: 'nic0', bandwidth_bps: 1e9 }],
    })),
    switches: numbers.map((n) => ({
      id: `sw-${n}`,
      origin: 'twin',
      driver: 'ovs',
      ports: 8,
      table_entries,
      actions: [],
    })),
    hosts: numbers.map((n) => ({
      id: `host-${n}`,
      origin: 'twin',
      role: 'client',
      addresses: [{ address: `10.0.0.${n}` }, { address: `fd00::${n}` }],
      mac: `02:00:00:00:00:0${n}`,
    })),
    links: numbers.flatMap((n) => [
      link(`s-${n}`, [`server-${n}`, 'nic0'], [`sw-${n}`, 'ps']),
      link(`h-${n}`, [`host-${n}`, 'eth0'], [`sw-${n}`, 'ph']),
      ...(n > 1 ? [link(`t-${n}`, [`sw-${n - 1}`, 'right'], [`sw-${n}`, 'left'])] : []),
    ]),
  });
}

/** Of a rule; absent range: all flows. */
export interface Target {
  hop: number;
  server: string;
  range?: { lo: number; hi: number };
}
export const rule = (kind: FabricRule['kind'], targets: Target[], more: Partial<FabricRule> = {}): FabricRule =>
  FabricRule.parse({
    id: `${kind}/${targets[0]!.hop}`,
    chain_id: null,
    kind,
    priority: 100,
    from_hosts: [],
    from_servers: [],
    match: [],
    hop: kind === 'hop' ? targets[0]!.hop : null,
    key: [],
    targets: targets.map((target) => ({ range: { lo: 0, hi: 65536 }, ...target })),
    ...more,
  });
