import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { type EventDraft, Reconfiguration } from '@orrery/contract';
import { z } from 'zod';
import { type Batch, COLLECTIONS, type Collections } from '../../../platform/durable-collection/collections.js';
import type { DurableCollection } from '../../../platform/durable-collection/durable-collection.js';
import { KEYS } from '../../../platform/redis-keys.js';
import { EVENT_LOG, type EventLog } from '../../../ports/event-log.js';
import { LEASES, type LeaseBook, type Resource } from '../../../ports/lease-book.js';
import { PLAN_SHELVES, type PlanShelves } from '../../../ports/plan-shelves.js';
import { Course } from '../conduct/course.js';

/** Older ones are deleted. */
const KEEP = 200;

/** A reconfiguration, with its course until it ends. */
const Recorded = z.strictObject({ run: Reconfiguration, course: Course.nullable() });
type Recorded = z.infer<typeof Recorded>;

/** Recent reconfigurations, with the leases of those in progress. */
@Injectable()
export class Records implements OnModuleInit {
  private readonly records: DurableCollection<Recorded>;
  private runs: readonly Reconfiguration[] | null = null;

  constructor(
    @Inject(COLLECTIONS) private readonly collections: Collections,
    @Inject(LEASES) private readonly leases: LeaseBook,
    @Inject(EVENT_LOG) private readonly events: EventLog,
    @Inject(PLAN_SHELVES) private readonly shelves: PlanShelves,
  ) {
    this.records = collections.open({
      key: KEYS.reconfigurations,
      noun: 'reconfiguration',
      schema: Recorded,
      version: 1,
      migrate: (run) => ({ run, course: null }),
      idOf: ({ run }) => run.id,
      numbered: 'newest-first',
      order: (a, b) => b.run.started_ms - a.run.started_ms,
      bound: { most: KEEP, policy: 'drop-last', keeps: ({ run }) => run.state === 'running' },
    });
    this.records.onChange(() => {
      this.runs = null;
    });
  }

  onModuleInit(): Promise<void> {
    return this.records.load();
  }

  /** Newest first. */
  all(): readonly Reconfiguration[] {
    this.runs ??= this.records.all().map(({ run }) => run);
    return this.runs;
  }

  find(id: string): Reconfiguration | undefined {
    return this.records.find(id)?.run;
  }

  onEnd(listener: (run: Reconfiguration) => void): void {
    this.records.onChange(({ put }) => {
      for (const { run } of put) if (run.state !== 'running') listener(run);
    });
  }

  /** The stored state of an unfinished run; null if it has ended or does not exist. */
  async underWay(id: string): Promise<Recorded | null> {
    await this.collections.certain();
    const record = this.records.find(id);
    return record?.run.state === 'running' ? record : null;
  }

  /** Stores a new run with its leases. Throws 409 that names the reconfiguration that holds one of them. */
  begin(run: Reconfiguration, course: Course, resources: readonly Resource[], ...events: EventDraft[]): Promise<void> {
    return this.collections.commit((batch) => {
      const { by } = course;
      this.leases.acquireIn(batch, { claim: 'change', holder: run.id, purpose: 'reconfiguration', by, resources });
      this.put(batch, { run, course }, events);
    });
  }

  /** Stores the run, its course (null: it has ended and its leases are released) and events atomically. */
  write(run: Reconfiguration, course: Course | null, ...events: EventDraft[]): Promise<void> {
    return this.collections.commit((batch) => {
      if (!course) this.leases.releaseIn(batch, 'change', run.id);
      this.put(batch, { run, course }, events);
    });
  }

  private put(batch: Batch, record: Recorded, events: readonly EventDraft[]): void {
    batch.put(this.records, record);
    batch.also((transaction) => {
      // What it is taken back to.
      this.shelves.holdIn(transaction, record.run.id, record.course?.plan_before ?? null);
      for (const event of events) this.events.appendIn(transaction, event);
    });
  }
}
