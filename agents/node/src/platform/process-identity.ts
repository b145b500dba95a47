import { readFileSync } from 'node:fs';
import { z } from 'zod';

/** Identifies a process uniquely: a PID is reused, but not with the same start time within one boot. */
export const ProcessIdentity = z.strictObject({
  pid: z.int().min(1),
  start_ticks: z.string().regex(/^\d+$/),
  boot_id: z.string(),
});
export type ProcessIdentity = z.infer<typeof ProcessIdentity>;

const bootId = () => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();

/** State and start time from /proc/<pid>/stat (proc(5): fields 3 and 22); null if there is no such process. */
function stat(pid: number): { state: string; start_ticks: string } | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return { state: fields[0]!, start_ticks: fields[19]! };
  } catch {
    return null;
  }
}

export function identify(pid: number): ProcessIdentity | null {
  const found = stat(pid);
  return found && { pid, start_ticks: found.start_ticks, boot_id: bootId() };
}

/** Whether exactly this process still runs; a zombie does not count. */
export function isAlive(identity: ProcessIdentity): boolean {
  const found = stat(identity.pid);
  return (
    found !== null &&
    found.state !== 'Z' &&
    found.state !== 'X' &&
    found.start_ticks === identity.start_ticks &&
    bootId() === identity.boot_id
  );
}

/** Whether it is stopped by a signal or a debugger and so does nothing. */
export function isStopped(identity: ProcessIdentity): boolean {
  const found = stat(identity.pid);
  return found?.start_ticks === identity.start_ticks && (found.state === 'T' || found.state === 't');
}

/** Signals exactly this process and none that reused its PID; false if it is gone. */
export function signalProcess(identity: ProcessIdentity, signal: NodeJS.Signals): boolean {
  if (!isAlive(identity)) return false;
  try {
    process.kill(identity.pid, signal);
    return true;
  } catch {
    return false;
  }
}
