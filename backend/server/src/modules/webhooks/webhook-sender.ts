import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import type { Event, EventDraft, Webhook, WebhookAttempt } from '@orrery/contract';
import { Counter } from 'prom-client';
import { CONFIG, type Config } from '../../platform/config.js';
import type { ControlLoop } from '../../platform/control-loop/control-loop.js';
import { CONTROL_LOOPS, type ControlLoops } from '../../platform/control-loop/control-loops.js';
import type { LoopRun, RunOutcome } from '../../platform/control-loop/definition.js';
import { METRICS, type Metrics } from '../../platform/metrics.js';
import { ProblemError } from '../../platform/problem.js';
import { compareIds, EVENT_SOURCE, type EventSource } from '../../ports/event-log.js';
import { messageOf, testMessage, wants } from './message.js';
import { post, verdictOf } from './post.js';
import type { StoredWebhook, WebhookProgress } from './stored.js';
import { Webhooks } from './webhooks.js';

const DEADLINE_MS = 60_000;
/** A run begins no other attempt after this time. */
const RUN_MS = 20_000;
const READ_AT_ONCE = 200;
const FIRST_RETRY_MS = 1000;
const MOST_RETRY_MS = 300_000;
/** An event is given up after this time, in which a server ran. */
const GIVE_UP_S = 86_400;
/** How far a webhook has come is stored so often at most while it wants none of the events. */
const STORE_MS = 30_000;

/** When the event that waits was sent last, and is sent again. Monotonic times. */
interface Retry {
  readonly lastMs: number;
  readonly atMs: number;
}

/**
 * Sends the events that webhooks ask for, each webhook in the order of the event log and at least once: the log is the queue, and
 * what is stored is how far each has come. While a receiver does not answer, its events wait, and the others' go on.
 */
@Injectable()
export class WebhookSender implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly loop: ControlLoop;
  /** By webhook: events up to this one are done with; may be ahead of what is stored by events that it does not want. */
  private readonly cursors = new Map<string, string>();
  private readonly retries = new Map<string, Retry>();
  private readonly storedMs = new Map<string, number>();
  private readonly testing = new Set<string>();
  private readonly outcomes: Counter<'outcome'>;
  private unsubscribe: () => void = () => undefined;

  constructor(
    @Inject(CONTROL_LOOPS) loops: ControlLoops,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(METRICS) metrics: Metrics,
    @Inject(EVENT_SOURCE) private readonly source: EventSource,
    @Inject(Webhooks) private readonly webhooks: Webhooks,
  ) {
    this.outcomes = new Counter({
      name: 'orrery_webhook_attempts_total',
      help: 'Attempts to send an event to a webhook, by outcome: delivered, refused, again',
      labelNames: ['outcome'],
      registers: [metrics.registry],
    });
    this.loop = loops.add({
      id: 'webhooks',
      title: 'Webhooks',
      purpose: 'Sends events to the webhooks that ask for them, in order, until each is received.',
      tickMs: null,
      backoff: { firstMs: FIRST_RETRY_MS, mostMs: MOST_RETRY_MS },
      deadlineMs: DEADLINE_MS,
      run: (run) => this.run(run),
    });
  }

  onApplicationBootstrap(): void {
    this.webhooks.onChange((hooks) => {
      for (const { id } of hooks) {
        this.cursors.delete(id);
        this.retries.delete(id);
        this.loop.wake(id);
      }
    });
    this.unsubscribe = this.source.onNews(() => this.wakeAll());
    this.wakeAll();
  }

  async onApplicationShutdown(): Promise<void> {
    this.unsubscribe();
    await this.loop.stop();
    // Events that they did not want; without it they would be read again.
    for (const hook of this.webhooks.all())
      await this.keep(hook, this.cursors.get(hook.id) ?? '0-0').catch(() => undefined);
  }

  describe(hook: StoredWebhook): Webhook {
    const { secret: _secret, ...fields } = hook;
    const { cursor, waiting, ...progress } = this.webhooks.progressOf(hook.id);
    const retry = this.retries.get(hook.id);
    const waits = waiting !== null && !this.hasPassed(hook, this.cursors.get(hook.id) ?? cursor);
    const state = this.loop.status().paused ? 'paused' : waits ? 'retrying' : 'idle';
    return {
      ...fields,
      ...progress,
      revision: this.webhooks.revisionOf(hook.id),
      state: hook.enabled ? state : 'disabled',
      attempts: waits ? waiting.attempts : 0,
      retry_in_s: retry ? Math.max(0, retry.atMs - performance.now()) / 1000 : null,
    };
  }

  /** Throws 429 while another test of it is under way. */
  async test(hook: StoredWebhook): Promise<WebhookAttempt> {
    if (this.testing.has(hook.id)) throw new ProblemError(429, 'A test of this webhook is under way.');
    this.testing.add(hook.id);
    try {
      return await post(hook, testMessage(hook.id, Date.now()), null, this.config.version);
    } finally {
      this.testing.delete(hook.id);
    }
  }

  private wakeAll(): void {
    for (const { id, enabled } of this.webhooks.all()) if (enabled) this.loop.wake(id);
  }

  private async run(run: LoopRun): Promise<RunOutcome | undefined> {
    const endMs = performance.now() + RUN_MS;
    while (performance.now() < endMs) {
      const hook = this.webhooks.find(run.key);
      if (!hook?.enabled) return { again: 'done' };
      const waitMs = (this.retries.get(hook.id)?.atMs ?? 0) - performance.now();
      if (waitMs > 0) return { again: waitMs };
      const event = await run.step(this.nextFor(hook));
      if (!event) return undefined;
      const attempt = await run.step(post(hook, messageOf(hook.id, event), event.id, this.config.version, run.signal));
      await run.step(this.take(hook, event, attempt, run));
    }
    return { again: 0 };
  }

  /** The first event that it wants and has not sent; null: none. */
  private async nextFor(hook: StoredWebhook): Promise<Event | null> {
    const stored = this.webhooks.progressOf(hook.id);
    let cursor = this.cursors.get(hook.id) ?? stored.cursor;
    if (!stored.has_gap && !(await this.source.covers(cursor)))
      await this.webhooks.advance(hook, (now) => ({ ...now, has_gap: true }));
    for (;;) {
      const events = await this.source.after(cursor, READ_AT_ONCE);
      for (const event of events) {
        if (wants(hook, event)) return event;
        cursor = event.id;
        this.cursors.set(hook.id, cursor);
      }
      const isDue = performance.now() - (this.storedMs.get(hook.id) ?? Number.NEGATIVE_INFINITY) >= STORE_MS;
      if (isDue || events.length === READ_AT_ONCE || this.hasPassed(hook, cursor)) await this.keep(hook, cursor);
      if (events.length < READ_AT_ONCE) return null;
    }
  }

  /** Whether the event that waits is wanted no longer. */
  private hasPassed(hook: StoredWebhook, cursor: string): boolean {
    const { waiting } = this.webhooks.progressOf(hook.id);
    return waiting !== null && compareIds(waiting.event_id, cursor) <= 0;
  }

  private async keep(hook: StoredWebhook, cursor: string): Promise<void> {
    if (compareIds(cursor, this.webhooks.progressOf(hook.id).cursor) <= 0) return;
    await this.webhooks.advance(hook, (now) => ({ ...now, cursor }));
    this.storedMs.set(hook.id, performance.now());
  }

  private async take(hook: StoredWebhook, event: Event, attempt: WebhookAttempt, run: LoopRun): Promise<void> {
    const before = this.webhooks.progressOf(hook.id);
    const verdict = verdictOf(attempt);
    this.outcomes.inc({ outcome: verdict });
    const nowMs = performance.now();
    const known = before.waiting?.event_id === event.id ? before.waiting : { attempts: 0, waited_s: 0 };
    const waited_s = known.waited_s + (nowMs - (this.retries.get(hook.id)?.lastMs ?? nowMs)) / 1000;
    const attempts = known.attempts + 1;
    const isGivenUp = verdict === 'again' && waited_s >= GIVE_UP_S;
    const isOver = verdict !== 'again' || isGivenUp;
    const next = (now: WebhookProgress): WebhookProgress => ({
      ...now,
      cursor: isOver ? event.id : (this.cursors.get(hook.id) ?? now.cursor),
      delivered: now.delivered + Number(verdict === 'delivered'),
      refused: now.refused + Number(verdict === 'refused'),
      expired: now.expired + Number(isGivenUp),
      last_attempt: attempt,
      waiting: isOver ? null : { event_id: event.id, attempts, waited_s },
    });
    await this.webhooks.advance(hook, next, newsOf(hook, event, before, attempt));
    this.retries.delete(hook.id);
    // Changed meanwhile: what it waits for, and since when, is read anew.
    if (this.webhooks.find(hook.id) !== hook) return void this.cursors.delete(hook.id);
    this.cursors.set(hook.id, this.webhooks.progressOf(hook.id).cursor);
    if (isOver) return;
    const afterMs = Math.min(MOST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(attempts - 1, 20));
    this.retries.set(hook.id, { lastMs: nowMs, atMs: nowMs + afterMs });
    const inputs = { attempts, status: attempt.status, retry_s: afterMs / 1000 };
    run.decide({ subject: hook.id, what: 'Send again later', why: attempt.error ?? '', inputs, told: true });
  }
}

const isUnheard = (attempt: WebhookAttempt | null) => attempt !== null && verdictOf(attempt) === 'again';

/** What an attempt changes for those who watch: told once, not with each attempt. */
function newsOf(hook: StoredWebhook, event: Event, before: WebhookProgress, attempt: WebhookAttempt): EventDraft[] {
  const { id: subject, title } = hook;
  const news: EventDraft[] = [];
  const was = isUnheard(before.last_attempt);
  const is = isUnheard(attempt);
  if (is && !was) {
    const error = attempt.error ?? '';
    const message = `The webhook "${title}" does not get through: ${error}`;
    news.push({ type: 'webhook.failing', subject, message, data: { title, error } });
  }
  if (was && !is) {
    const message = `The webhook "${title}" gets through again`;
    news.push({ type: 'webhook.recovered', subject, message, data: { title } });
  }
  if (verdictOf(attempt) === 'refused' && attempt.status !== null) {
    const message = `The receiver of the webhook "${title}" refused ${event.type} with ${attempt.status}`;
    news.push({
      type: 'webhook.refused',
      subject,
      message,
      data: { title, status: attempt.status, event_id: event.id },
    });
  }
  return news;
}
