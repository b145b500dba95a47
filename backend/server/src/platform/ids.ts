import { createHash, randomBytes, randomUUID } from 'node:crypto';

/** A new unique id that sorts by time within a process. */
export function newId(prefix: string): string {
  return `${prefix}-${Date.now().toString(36)}${randomUUID().replaceAll('-', '').slice(0, 10)}`;
}

/** A secret that needs no quoting on a command line: it never begins with a dash. */
export function newToken(): string {
  return randomBytes(32).toString('hex');
}

export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
