import { mkdtempSync, rmSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { configFrom } from './config.js';
import { makeLog } from './log.js';
import { Store } from './redis.js';
import { KEYS } from './redis-keys.js';
import { requireStateVersion } from './state-version.js';

let folder: string;
let store: Store;
beforeAll(async () => {
  folder = mkdtempSync('/tmp/orrery-v-');
  store = await Store.open(configFrom({ ORRERY_RUN_DIR: folder, ORRERY_STATE_DIR: folder }), makeLog('silent'));
});
afterAll(async () => {
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(() => store.redis.flushall());

it('marks new state, and accepts it on the next start', async () => {
  await requireStateVersion(store, folder);
  await store.redis.set(KEYS.adminSecret, 'hash');
  await requireStateVersion(store, folder);
});

it('refuses state of another version, names its place, and leaves it unchanged', async () => {
  await store.redis.set(KEYS.adminSecret, 'hash');
  await expect(requireStateVersion(store, folder)).rejects.toThrow(new RegExp(`${folder} has version 1`));
  await store.redis.set(KEYS.stateVersion, '99');
  await expect(requireStateVersion(store, folder)).rejects.toThrow(/version 99/);
  expect(await store.redis.keys('*')).toHaveLength(2);
  expect(await store.redis.get(KEYS.stateVersion)).toBe('99');
});
