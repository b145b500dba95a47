import { readFileSync } from 'node:fs';
import type { Metrics } from './application-kind.js';

const INTERVAL =
  /\[ *\d+\] +[\d.]+-[\d.]+ +sec +[\d.]+ [KMGT]?Bytes +([\d.]+) Kbits\/sec(?: +[\d.]+ ms +(\d+)\/(\d+))?/g;

/** The rate of the latest interval that iperf3 has printed (`--forceflush -f k`). */
export function latestRate(output: string): Metrics | null {
  const last = [...output.matchAll(INTERVAL)].at(-1);
  return last ? { bits_per_second: Number(last[1]) * 1000 } : null;
}

const TCP_LISTEN = '0A';

/** Whether a process listens on a TCP port in the network namespace of this process. */
export function isListening(port: number): boolean {
  return ['tcp', 'tcp6'].some((table) =>
    read(`/proc/self/net/${table}`)
      .split('\n')
      .slice(1)
      .map((line) => line.trim().split(/\s+/))
      .some(([, local, , state]) => state === TCP_LISTEN && Number.parseInt(local!.split(':').at(-1)!, 16) === port),
  );
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
