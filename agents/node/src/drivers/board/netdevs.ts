import { readFileSync } from 'node:fs';

/** Interfaces of the agent's own network namespace, whichever /sys is mounted. */
export function netdevs(): ReadonlySet<string> {
  const lines = readFileSync('/proc/self/net/dev', 'utf8').split('\n').slice(2);
  return new Set(lines.flatMap((line) => /^\s*([^\s]+):/.exec(line)?.[1] ?? []));
}
