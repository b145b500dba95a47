import { Infrastructure } from '@orrery/contract';

interface LiveHost {
  readonly id: string;
  readonly role: 'client' | 'server';
  readonly address: string;
}

export const CLIENT: LiveHost = { id: 'client-1', role: 'client', address: '10.0.1.1' };
export const WEB: LiveHost = { id: 'web-1', role: 'server', address: '10.0.2.1' };

/** Live servers and hosts, each with one link from its port `eth0` to the switch `tor`; twind emulates none of it. */
export function liveInfrastructure(servers: readonly string[], hosts: readonly LiveHost[] = []): Infrastructure {
  return Infrastructure.parse({
    name: 'site',
    servers: servers.map((id) => ({
      id,
      origin: 'live',
      cores: 1,
      ghz: 2,
      memory_bytes: 1e9,
      nics: [{ name: 'eth0', bandwidth_bps: 1e9 }],
    })),
    switches: [{ id: 'tor', origin: 'live', driver: 'ovs', ports: 8, table_entries: 1000, actions: ['forward'] }],
    hosts: hosts.map(({ id, role, address }, i) => ({
      id,
      origin: 'live',
      role,
      addresses: [{ address }],
      mac: `02:00:00:00:00:0${i + 1}`,
    })),
    links: [...servers, ...hosts.map(({ id }) => id)].map((node, i) => ({
      id: `${node}-tor`,
      a: { node, port: 'eth0' },
      b: { node: 'tor', port: `p${i + 1}` },
      bandwidth_bps: 1e9,
    })),
  });
}

/** Two servers with cores so slow that small rates need several instances. */
export function slowSite(): Infrastructure {
  const site = liveInfrastructure(['edge-1', 'edge-2'], [CLIENT, WEB]);
  return { ...site, servers: site.servers.map((server) => ({ ...server, cores: 4, ghz: 0.05 })) };
}
