import { readFileSync } from 'node:fs';

/** Frames since the interface was created, as the kernel counts them. */
export interface NetdevCounters {
  sent: number;
  received: number;
}
export type Netdevs = ReadonlyMap<string, NetdevCounters>;

/** Columns of /proc/net/dev after the name. */
const RECEIVED = 1;
const SENT = 9;

/** Interfaces of the agent's own network namespace, regardless of which /sys is mounted. */
export function netdevs(): Netdevs {
  const lines = readFileSync('/proc/self/net/dev', 'utf8').split('\n').slice(2);
  return new Map(
    lines.flatMap((line): [string, NetdevCounters][] => {
      const [, name, rest] = /^\s*([^\s]+):(.*)/.exec(line) ?? [];
      if (!name) return [];
      const columns = rest!.trim().split(/\s+/).map(Number);
      return [[name, { sent: columns[SENT]!, received: columns[RECEIVED]! }]];
    }),
  );
}
