import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { newToken } from '../../platform/ids.js';
import type { Store } from '../../platform/redis.js';
import { KEYS } from '../../platform/redis-keys.js';

const derive = promisify(scrypt) as (secret: string, salt: Buffer, bytes: number) => Promise<Buffer>;
const HASH_BYTES = 32;

/**
 * Creates the admin secret on the first run: its hash is stored, the secret itself is written to `admin-secret` (0600).
 * Returns the secret if it was just created, otherwise null.
 */
export async function ensureAdminSecret(store: Store, stateDir: string): Promise<string | null> {
  if (await store.redis.exists(KEYS.adminSecret)) return null;
  const secret = newToken();
  await mkdir(stateDir, { recursive: true, mode: 0o700 });
  const file = join(stateDir, 'admin-secret');
  await writeFile(`${file}.new`, `${secret}\n`, { mode: 0o600 });
  await rename(`${file}.new`, file);
  const salt = randomBytes(16);
  const hash = await derive(secret, salt, HASH_BYTES);
  await store.redis.set(KEYS.adminSecret, `${salt.toString('hex')}:${hash.toString('hex')}`);
  return secret;
}

/** Replaces the secret and ends every session. */
export async function renewAdminSecret(store: Store, stateDir: string): Promise<void> {
  const sessions = await store.redis.keys(KEYS.session('*'));
  await store.redis.del(KEYS.adminSecret, ...sessions);
  await ensureAdminSecret(store, stateDir);
}

export async function isAdminSecret(store: Store, secret: string): Promise<boolean> {
  const [salt, hash] = ((await store.redis.get(KEYS.adminSecret)) ?? '').split(':');
  if (!salt || !hash) return false;
  const given = await derive(secret, Buffer.from(salt, 'hex'), HASH_BYTES);
  return timingSafeEqual(given, Buffer.from(hash, 'hex'));
}
