import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import type { Reconfiguration } from '@orrery/contract';
import { STORE, type Store } from '../../platform/redis.js';
import { KEYS } from '../../platform/redis-keys.js';
import { EVENT_LOG, type EventDraft, type EventLog } from '../../ports/event-log.js';
import type { Course } from './course.js';

/** Older ones are forgotten. */
const KEEP = 200;

/** Every reconfiguration lately, the newest first, and the course of those that are not over: in memory as in Redis. */
@Injectable()
export class Records implements OnModuleInit {
  private entries: readonly Reconfiguration[] = [];
  private courses = new Map<string, Course>();
  /** A write was not answered: Redis may hold more than memory. */
  private unsure = false;

  constructor(
    @Inject(STORE) private readonly store: Store,
    @Inject(EVENT_LOG) private readonly events: EventLog,
  ) {}

  onModuleInit(): Promise<void> {
    return this.load();
  }

  all(): readonly Reconfiguration[] {
    return this.entries;
  }

  find(id: string): Reconfiguration | undefined {
    return this.entries.find((each) => each.id === id);
  }

  /** Where it was, as it is stored; null when it is over, or never came to be. */
  async underWay(id: string): Promise<{ run: Reconfiguration; course: Course | undefined } | null> {
    if (this.unsure) await this.load();
    const run = this.find(id);
    return run?.state === 'running' ? { run, course: this.courses.get(id) } : null;
  }

  /** Stores the run as it is now, its course (null: it is over) and what is told of it: all or nothing. */
  async write(run: Reconfiguration, course: Course | null, ...events: EventDraft[]): Promise<void> {
    const next = newestFirst([run, ...this.entries.filter(({ id }) => id !== run.id)]);
    const over = next.slice(KEEP).map(({ id }) => id);
    await this.store
      .transact((transaction) => {
        transaction.hset(KEYS.reconfigurations, run.id, JSON.stringify(run));
        if (course) transaction.hset(KEYS.reconfigurationCourses, run.id, JSON.stringify(course));
        else transaction.hdel(KEYS.reconfigurationCourses, run.id);
        if (over.length > 0) transaction.hdel(KEYS.reconfigurations, ...over);
        for (const event of events) this.events.appendIn(transaction, event);
      })
      .catch((error: unknown) => {
        this.unsure = true;
        throw error;
      });
    this.entries = next.slice(0, KEEP);
    if (course) this.courses.set(run.id, course);
    else this.courses.delete(run.id);
  }

  private async load(): Promise<void> {
    this.entries = newestFirst(await this.store.hashValues<Reconfiguration>(KEYS.reconfigurations));
    const courses = new Map<string, Course>();
    for (const { id } of this.entries.filter(({ state }) => state === 'running')) {
      const course = await this.store.hashJson<Course>(KEYS.reconfigurationCourses, id);
      if (course) courses.set(id, course);
    }
    this.courses = courses;
    this.unsure = false;
  }
}

function newestFirst(runs: Reconfiguration[]): Reconfiguration[] {
  return runs.sort((a, b) => b.started_ms - a.started_ms || (a.id < b.id ? 1 : -1));
}
