import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { type EventDraft, ScenarioReport } from '@orrery/contract';
import { COLLECTIONS, type Collections } from '../../platform/durable-collection/collections.js';
import type { DurableCollection } from '../../platform/durable-collection/durable-collection.js';
import { KEYS } from '../../platform/redis-keys.js';
import { EVENT_LOG, type EventLog } from '../../ports/event-log.js';
import type { ScenarioView } from '../../ports/scenario-view.js';

/** Older ones are deleted. */
const KEEP = 50;

/** The latest scenario runs, as last stored. */
@Injectable()
export class ScenarioRecords implements ScenarioView, OnModuleInit {
  private readonly runs: DurableCollection<ScenarioReport>;

  constructor(
    @Inject(COLLECTIONS) private readonly collections: Collections,
    @Inject(EVENT_LOG) private readonly events: EventLog,
  ) {
    this.runs = collections.open({
      key: KEYS.scenarioRuns,
      noun: 'scenario run',
      schema: ScenarioReport,
      version: 1,
      idOf: ({ id }) => id,
      numbered: 'newest-first',
      order: (a, b) => b.started_ms - a.started_ms,
      bound: { most: KEEP, policy: 'drop-last', keeps: ({ state }) => state === 'running' },
    });
  }

  onModuleInit(): Promise<void> {
    return this.runs.load();
  }

  /** Newest first. */
  all(): readonly ScenarioReport[] {
    return this.runs.all();
  }

  get running(): string | null {
    return this.all().find(({ state }) => state === 'running')?.scenario_id ?? null;
  }

  find(id: string): ScenarioReport | undefined {
    return this.runs.find(id);
  }

  /** Stores the run and the events of the change atomically. */
  write(run: ScenarioReport, ...events: EventDraft[]): Promise<void> {
    return this.collections.commit((batch) => {
      batch.put(this.runs, run);
      batch.also((transaction) => {
        for (const event of events) this.events.appendIn(transaction, event);
      });
    });
  }
}
