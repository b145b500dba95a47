import { closeSync, fstatSync, ftruncateSync, openSync, readSync, renameSync, writeFileSync } from 'node:fs';

const LOG_LIMIT_BYTES = 1024 * 1024;

/**
 * Keeps a log that another process appends to below twice the limit: what was written last before is in `<path>.1`. That
 * copies no more than the limit, however much was written.
 */
export function boundLog(path: string, limit_bytes = LOG_LIMIT_BYTES): void {
  try {
    const log = openSync(path, 'r+');
    try {
      const { size } = fstatSync(log);
      if (size <= limit_bytes) return;
      const last = Buffer.alloc(limit_bytes);
      const length = readSync(log, last, 0, limit_bytes, size - limit_bytes);
      // An agent that is killed at any moment leaves what was written last in one of the two.
      const kept = `${path}.1.new`;
      writeFileSync(kept, last.subarray(0, length), { mode: 0o600 });
      renameSync(kept, `${path}.1`);
      ftruncateSync(log, 0);
    } finally {
      closeSync(log);
    }
  } catch {
    // A missing log needs no bound.
  }
}
