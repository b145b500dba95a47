import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

const TICKS_PER_SECOND = 100;

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)];
}

export function freePort() {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}

/** CPU time in seconds that a process or thread has used (`path`: /proc/<pid> or /proc/<pid>/task/<tid>). */
export function cpuSeconds(path) {
  const text = readFileSync(`${path}/stat`, 'utf8');
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

/** CPU time in seconds that all processes of the stack use during `seconds`. */
export async function cpuSecondsOf(stack, seconds) {
  const read = () => new Map(stack.processes().map((pid) => [pid, cpuSeconds(`/proc/${pid}`)]));
  const before = read();
  await sleep(seconds * 1000);
  let used = 0;
  for (const [pid, after] of read()) used += after - (before.get(pid) ?? 0);
  return used;
}
