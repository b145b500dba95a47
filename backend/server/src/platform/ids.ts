import { createHash, randomBytes, randomUUID } from 'node:crypto';

/** A new identity that sorts by time within a process and does not repeat. */
export function newId(prefix: string): string {
  return `${prefix}-${Date.now().toString(36)}${randomUUID().replaceAll('-', '').slice(0, 10)}`;
}

export function newToken(): string {
  return randomBytes(32).toString('base64url');
}

export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
