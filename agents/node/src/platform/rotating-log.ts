import { copyFileSync, statSync, truncateSync } from 'node:fs';

const LOG_LIMIT_BYTES = 1024 * 1024;

/** Keeps a log that another process appends to below twice the limit: the older half is in `<path>.1`. */
export function boundLog(path: string, limit_bytes = LOG_LIMIT_BYTES): void {
  try {
    if (statSync(path).size <= limit_bytes) return;
    copyFileSync(path, `${path}.1`);
    truncateSync(path, 0);
  } catch {
    // A missing log needs no bound.
  }
}
