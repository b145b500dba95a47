import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { type Loop, Name, TimestampMs } from '@orrery/contract';
import { z } from 'zod';
import { CONTROL_LOOPS, type ControlLoops } from '../../platform/control-loop/control-loops.js';
import type { LoopStatus, TakenDecision } from '../../platform/control-loop/definition.js';
import { COLLECTIONS, type Collections } from '../../platform/durable-collection/collections.js';
import type { DurableCollection } from '../../platform/durable-collection/durable-collection.js';
import { notFound } from '../../platform/problem.js';
import { KEYS } from '../../platform/redis-keys.js';
import { EVENT_LOG, type EventLog } from '../../ports/event-log.js';

const PausedLoop = z.strictObject({ id: Name, by: z.string(), since_ms: TimestampMs });
type PausedLoop = z.infer<typeof PausedLoop>;

const MAX_LOOPS = 256;

/** Stores which loops are paused, and logs what loops decide. */
@Injectable()
export class LoopsService implements OnModuleInit {
  private readonly paused: DurableCollection<PausedLoop>;

  constructor(
    @Inject(CONTROL_LOOPS) private readonly loops: ControlLoops,
    @Inject(COLLECTIONS) private readonly collections: Collections,
    @Inject(EVENT_LOG) private readonly events: EventLog,
  ) {
    this.paused = collections.open({
      key: KEYS.pausedLoops,
      noun: 'paused loop',
      schema: PausedLoop,
      version: 1,
      idOf: ({ id }) => id,
      bound: { most: MAX_LOOPS, policy: 'refuse' },
    });
    this.paused.onChange(({ put, removed }) => {
      for (const { id } of put) this.loops.pause(id);
      for (const { id } of removed) this.loops.resume(id);
    });
  }

  /** Runs before any loop: loops start once all modules are initialized. */
  async onModuleInit(): Promise<void> {
    await this.paused.load();
    this.loops.onDecision((decision) => this.write(decision));
  }

  all(): Loop[] {
    return this.loops.statuses().map((status) => this.describe(status));
  }

  async pause(id: string, by: string): Promise<Loop> {
    this.require(id);
    await this.collections.commit((batch) => {
      if (this.paused.find(id)) return;
      batch.put(this.paused, { id, by, since_ms: Date.now() });
      batch.also((transaction) =>
        this.events.appendIn(transaction, {
          type: 'loop.paused',
          subject: id,
          message: `The control loop "${this.require(id).title}" was paused`,
          actor: by,
          data: { loop: id },
        }),
      );
    });
    return this.describe(this.require(id));
  }

  async resume(id: string, by: string): Promise<Loop> {
    this.require(id);
    await this.collections.commit((batch) => {
      if (!batch.remove(this.paused, id)) return;
      batch.also((transaction) =>
        this.events.appendIn(transaction, {
          type: 'loop.resumed',
          subject: id,
          message: `The control loop "${this.require(id).title}" runs again`,
          actor: by,
          data: { loop: id },
        }),
      );
    });
    return this.describe(this.require(id));
  }

  private require(id: string): LoopStatus {
    const status = this.loops.status(id);
    if (!status) throw notFound('control loop', id);
    return status;
  }

  private write({ loop, subject, what, why, inputs, told, suppressed, atMs }: TakenDecision): void {
    if (told) return;
    this.events.append({
      type: 'loop.decided',
      subject: loop,
      message: `${what}: ${why}`,
      data: { loop, about: subject, what, why, inputs: { ...inputs }, suppressed },
      t_ms: atMs,
    });
  }

  private describe(status: LoopStatus): Loop {
    const { id, title, purpose, failures, lastDecision } = status;
    const pause = this.paused.find(id);
    return {
      id,
      title,
      purpose,
      state: pause ? 'paused' : failures > 0 ? 'backing-off' : 'running',
      paused: pause ? { by: pause.by, since_ms: pause.since_ms } : null,
      at_work: [...status.atWork],
      runs: status.runs,
      last_run_ms: status.lastRunMs,
      next_run_ms: status.nextRunMs,
      last_decision: lastDecision && {
        subject: lastDecision.subject,
        what: lastDecision.what,
        why: lastDecision.why,
        inputs: { ...lastDecision.inputs },
        at_ms: lastDecision.atMs,
      },
      failures,
      last_error: status.lastError,
    };
  }
}
