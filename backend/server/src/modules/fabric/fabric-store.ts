import { FabricSpec, Generation, Name, SwitchSpec } from '@orrery/contract';
import { z } from 'zod';
import type { Store } from '../../platform/redis.js';
import { KEYS } from '../../platform/redis-keys.js';
import { unreadableState } from '../../platform/state-version.js';

const StoredFabric = z.object({
  rules: FabricSpec,
  switches: z.record(Name, SwitchSpec),
  /** The highest that any switch was ever sent: a switch that is removed and added again must not repeat one. */
  last_generation: Generation.default(0),
});
/** Desired state of the fabric, and what each switch was sent for it. */
export type StoredFabric = z.infer<typeof StoredFabric>;

export const NO_FABRIC: StoredFabric = { rules: { generation: 0, rules: [] }, switches: {}, last_generation: 0 };

export class FabricStore {
  constructor(private readonly store: Store) {}

  /** Throws if it cannot be read: switches that are sent no rules would drop every chain. */
  async read(): Promise<StoredFabric> {
    const text = await this.store.redis.get(KEYS.fabric);
    if (text === null) return NO_FABRIC;
    try {
      return StoredFabric.parse(JSON.parse(text));
    } catch (error) {
      const why = error instanceof z.ZodError ? z.prettifyError(error) : (error as Error).message;
      throw unreadableState(`The switch rules (${KEYS.fabric})`, why);
    }
  }

  async write(fabric: StoredFabric): Promise<void> {
    await this.store.transact((transaction) => transaction.set(KEYS.fabric, JSON.stringify(fabric)));
  }
}
