import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';

/** Version of the functions; the state proxies of agents ask for it and refuse another. */
export const STATE_LIBRARY_VERSION = 1;

/** What NFs share, as functions of Redis: `backend/server/state/functions.lua`. */
const LIBRARY = readFileSync(new URL('../../../state/functions.lua', import.meta.url), 'utf8');

/** Loads the functions in place of any others of this library. What they keep stays. */
export async function loadStateLibrary(store: Redis): Promise<void> {
  await store.function('LOAD', 'REPLACE', LIBRARY);
}

/** Version of the functions that a store has; null: it has none. */
export async function loadedStateLibrary(store: Redis): Promise<number | null> {
  try {
    return Number(await store.fcall_ro('state_version', 0));
  } catch (error) {
    if (error instanceof Error && /Function not found/.test(error.message)) return null;
    throw error;
  }
}
