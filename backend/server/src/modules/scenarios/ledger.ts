import { Inject, Injectable } from '@nestjs/common';
import { STORE, type Store } from '../../platform/redis.js';
import { KEYS } from '../../platform/redis-keys.js';
import type { Kind } from './kinds.js';

/** Something that a run made. It is noted before it is made, so that a restart in between leaves nothing unknown. */
export interface Made {
  readonly kind: Kind;
  readonly request: unknown;
  /** null: it may not have come to be. */
  readonly id: string | null;
  readonly noted_ms: number;
}

/** What runs made and is not taken away yet, over restarts. */
@Injectable()
export class Ledger {
  constructor(@Inject(STORE) private readonly store: Store) {}

  runs(): Promise<string[]> {
    return this.store.redis.hkeys(KEYS.scenarioMade);
  }

  /** In the order of making. */
  async of(runId: string): Promise<Made[]> {
    return (await this.store.hashJson<Made[]>(KEYS.scenarioMade, runId)) ?? [];
  }

  async write(runId: string, made: readonly Made[]): Promise<void> {
    await this.store.transact((transaction) => {
      if (made.length > 0) transaction.hset(KEYS.scenarioMade, runId, JSON.stringify(made));
      else transaction.hdel(KEYS.scenarioMade, runId);
    });
  }
}
