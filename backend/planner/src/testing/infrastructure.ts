import { Infrastructure } from '@orrery/contract';

interface Rack {
  servers?: number;
  cores?: number;
  ghz?: number;
  memory_bytes?: number;
  nic_bps?: number;
  link_bps?: number;
  table_entries?: number;
  name?: (index: number) => string;
}

/** One switch, `servers` servers and two clients. */
export function rack({
  servers = 3,
  cores = 2,
  ghz = 2,
  memory_bytes = 1e9,
  nic_bps = 1e11,
  link_bps = 1e11,
  table_entries = 1000,
  name = (i) => `server-${i + 1}`,
}: Rack = {}): Infrastructure {
  const ids = Array.from({ length: servers }, (_, i) => name(i));
  return Infrastructure.parse({
    name: 'rack',
    servers: ids.map((id) => ({
      id,
      origin: 'twin',
      cores,
      ghz,
      memory_bytes,
      nics: [{ name: 'eth0', bandwidth_bps: nic_bps }],
    })),
    switches: [
      { id: 'switch-1', origin: 'twin', driver: 'ovs', ports: 64, table_entries, actions: ['forward', 'mirror'] },
    ],
    hosts: ['client-1', 'client-2'].map((id, i) => ({
      id,
      origin: 'twin',
      role: 'client',
      addresses: [{ address: `10.0.0.${i + 1}` }],
      mac: `02:00:00:00:00:0${i + 1}`,
    })),
    links: [...ids, 'client-1', 'client-2'].map((id, i) => ({
      id: `link-${i + 1}`,
      a: { node: id, port: 'eth0' },
      b: { node: 'switch-1', port: `p${i + 1}` },
      bandwidth_bps: link_bps,
    })),
  });
}
