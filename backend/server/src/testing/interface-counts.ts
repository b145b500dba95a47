import { readFileSync, readlinkSync } from 'node:fs';
import { RACK } from './fixtures.js';
import type { TestServer } from './server.js';
import { twinProcesses } from './twin-lab.js';

/**
 * What the interfaces of the twin have received and sent, in packets, for the message of a test that misses some: short,
 * since only its beginning may be kept.
 */
export function interfaceCounts(server: TestServer): string {
  const byNamespace = new Map<string, string>();
  for (const { pid, command } of twinProcesses(server, '')) {
    try {
      const namespace = readlinkSync(`/proc/${pid}/ns/net`);
      const node = [...RACK.servers, ...RACK.hosts].find(({ id }) => command.includes(`mininet:${id}`))?.id;
      if (node || !byNamespace.has(namespace))
        byNamespace.set(namespace, [node ?? '', ...countsOf(readFileSync(`/proc/${pid}/net/dev`, 'utf8'))].join(' '));
    } catch {
      // It has ended.
    }
  }
  return [...byNamespace.values()].filter((text) => /\d/.test(text)).join('; ');
}

function countsOf(table: string): string[] {
  return table
    .split('\n')
    .slice(2)
    .flatMap((line) => {
      const [name, , rx, , rxDropped, , , , , , tx, , txDropped] = line.trim().split(/\s+/);
      if (!name || name === 'lo:' || (rx === '0' && tx === '0')) return [];
      const dropped = Number(rxDropped) + Number(txDropped);
      return [`${name}${rx}/${tx}${dropped > 0 ? ` (${dropped} dropped)` : ''}`];
    });
}
