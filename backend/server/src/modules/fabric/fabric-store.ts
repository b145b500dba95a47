import { FabricSpec, Generation, Name, SwitchSpec } from '@orrery/contract';
import { z } from 'zod';
import type { Pace } from '../../platform/pace.js';
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

  /** Switch by switch: entries for thousands of rules are megabytes at each. */
  async write({ switches, ...rest }: StoredFabric, pace: Pace): Promise<void> {
    const texts: string[] = [];
    for (const [id, spec] of Object.entries(switches)) {
      texts.push(`${JSON.stringify(id)}:${JSON.stringify(spec)}`);
      await pace.breathe();
    }
    const text = `${JSON.stringify(rest).slice(0, -1)},"switches":{${texts.join()}}}`;
    await this.store.transact((transaction) => transaction.set(KEYS.fabric, text));
  }
}
