import { ConfigError } from './config.js';
import type { Store } from './redis.js';
import { KEYS } from './redis-keys.js';

/** Raised on changes of the storage format that this server cannot migrate. */
const STATE_VERSION = '3';

/**
 * Marks new state with the version of its format. Throws if the store has state of another version, which is left
 * unchanged.
 */
export async function requireStateVersion({ redis }: Store, where: string): Promise<void> {
  const [version, admin] = await redis.mget(KEYS.stateVersion, KEYS.adminSecret);
  const found = version ?? (admin === null ? null : '1');
  if (found === null) await redis.set(KEYS.stateVersion, STATE_VERSION);
  else if (found !== STATE_VERSION)
    throw new ConfigError(
      `The state in ${where} has version ${found}; this Orrery reads version ${STATE_VERSION}. ` +
        'Move it away to start fresh, or run the version of Orrery that wrote it.',
    );
}

/** The server does not start: without this state it would act as if there were none. */
export function unreadableState(what: string, why: string): ConfigError {
  return new ConfigError(
    `${what} in Redis cannot be read: ${why}. ` +
      'Restore the state from a copy, move it away to start fresh, or run the version of Orrery that wrote it.',
  );
}
