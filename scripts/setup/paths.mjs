import { createHash } from 'node:crypto';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The checkout. */
export const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
/** Everything that the commands generate and that is not source; safe to delete. */
export const WORK_DIR = resolve(ROOT, '.orrery');
export const LOG_DIR = resolve(WORK_DIR, 'log');
export const STATE_DIR = process.env.ORRERY_STATE_DIR ?? resolve(WORK_DIR, 'state');
export const VENV = resolve(ROOT, '.venv');

/**
 * Short, because a unix socket path is limited to 107 bytes; one per checkout and purpose, below ORRERY_RUN_DIR if set.
 */
export function runDir(purpose) {
  const tag = createHash('sha256').update(`${ROOT} ${purpose}`).digest('hex').slice(0, 8);
  if (process.env.ORRERY_RUN_DIR) return `${process.env.ORRERY_RUN_DIR}/orrery-${tag}`;
  return process.getuid?.() === 0 ? `/run/orrery-${tag}` : `/tmp/orrery-${process.getuid()}-${tag}`;
}
