import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { z } from 'zod';
import { COLLECTIONS, type Collections } from '../../platform/durable-collection/collections.js';
import type { DurableCollection } from '../../platform/durable-collection/durable-collection.js';
import { KEYS } from '../../platform/redis-keys.js';
import { KIND_NAMES } from './kinds.js';

/** A resource that a run created. It is recorded before its creation, so that a restart in between loses track of nothing. */
const Made = z.strictObject({
  kind: z.enum(KIND_NAMES),
  request: z.unknown(),
  /** Null: it may not exist. */
  id: z.string().nullable(),
  noted_ms: z.number(),
});
export type Made = z.infer<typeof Made>;

/** In order of creation. */
const MadeByRun = z.strictObject({ run: z.string(), made: z.array(Made) });
type MadeByRun = z.infer<typeof MadeByRun>;

const MAX_RUNS = 256;

/** What runs created and has not been removed yet; survives restarts. */
@Injectable()
export class Ledger implements OnModuleInit {
  private readonly entries: DurableCollection<MadeByRun>;

  constructor(@Inject(COLLECTIONS) private readonly collections: Collections) {
    this.entries = collections.open({
      key: KEYS.scenarioMade,
      noun: 'scenario run with something left',
      schema: MadeByRun,
      version: 1,
      migrate: (made, _from, run) => ({ run, made }),
      idOf: ({ run }) => run,
      bound: { most: MAX_RUNS, policy: 'refuse' },
    });
  }

  onModuleInit(): Promise<void> {
    return this.entries.load();
  }

  runs(): string[] {
    return this.entries.all().map(({ run }) => run);
  }

  /** As stored, even after a write without a reply. */
  async of(run: string): Promise<readonly Made[]> {
    await this.collections.certain();
    return this.entries.find(run)?.made ?? [];
  }

  /** Serialized with other changes: `work` gets what is stored. */
  change(run: string, work: (made: readonly Made[]) => readonly Made[]): Promise<void> {
    return this.collections.commit((batch) => {
      const made = work(this.entries.find(run)?.made ?? []);
      if (made.length > 0) batch.put(this.entries, { run, made: [...made] });
      else batch.remove(this.entries, run);
    });
  }
}
