import type { ServerNode } from '@orrery/contract';

/** An emulated server with one network card. */
export const serverNode = (id: string): ServerNode => ({
  id,
  origin: 'twin',
  cores: 4,
  ghz: 2,
  memory_bytes: 1,
  nics: [{ name: 'eth0', bandwidth_bps: 1e9 }],
  addresses: [],
});
