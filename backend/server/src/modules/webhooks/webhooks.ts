import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import type { EventDraft, WebhookRequest } from '@orrery/contract';
import { type Batch, COLLECTIONS, type Collections } from '../../platform/durable-collection/collections.js';
import type { DurableCollection } from '../../platform/durable-collection/durable-collection.js';
import { newId } from '../../platform/ids.js';
import { type Precondition, requireRead } from '../../platform/precondition.js';
import { compareIds, EVENT_LOG, EVENT_SOURCE, type EventLog, type EventSource } from '../../ports/event-log.js';
import { newSecret } from './message.js';
import { STORED_PROGRESS, STORED_WEBHOOKS, type StoredWebhook, startingAt, type WebhookProgress } from './stored.js';

/** Webhooks, and how far each has sent the event log. */
@Injectable()
export class Webhooks implements OnModuleInit {
  private readonly hooks: DurableCollection<StoredWebhook>;
  private readonly progress: DurableCollection<WebhookProgress>;

  constructor(
    @Inject(COLLECTIONS) private readonly collections: Collections,
    @Inject(EVENT_LOG) private readonly events: EventLog,
    @Inject(EVENT_SOURCE) private readonly source: EventSource,
  ) {
    this.hooks = collections.open(STORED_WEBHOOKS);
    this.progress = collections.open(STORED_PROGRESS);
  }

  async onModuleInit(): Promise<void> {
    await Promise.all([this.hooks.load(), this.progress.load()]);
  }

  all(): readonly StoredWebhook[] {
    return this.hooks.all();
  }

  find(id: string): StoredWebhook | undefined {
    return this.hooks.find(id);
  }

  /** Throws 404. */
  get(id: string): StoredWebhook {
    return this.hooks.get(id);
  }

  revisionOf(id: string): number {
    return this.hooks.revisionOf(id);
  }

  progressOf(id: string): WebhookProgress {
    return this.progress.find(id) ?? startingAt(id, this.source.latest);
  }

  /** Called with the webhooks that were added, changed or removed. */
  onChange(listener: (hooks: readonly StoredWebhook[]) => void): void {
    this.hooks.onChange(({ put, removed }) => listener([...put, ...removed]));
  }

  add(request: WebhookRequest, by: string): Promise<StoredWebhook> {
    return this.collections.commit((batch) => {
      const hook = { ...request, id: newId('wh'), secret: newSecret() };
      batch.put(this.progress, startingAt(hook.id, this.source.latest));
      return this.write(batch, hook, 'webhook.added', by);
    });
  }

  /** Throws 404, 412, 428. One that is enabled again begins with the events from now on. */
  replace(id: string, request: WebhookRequest, given: Precondition, by: string): Promise<StoredWebhook> {
    return this.collections.commit((batch) => {
      const now = this.hooks.get(id);
      const ifMatch = requireRead(given, `webhook "${id}"`, this.hooks.revisionOf(id));
      const progress = { ...this.progressOf(id), has_gap: false };
      const anew = { cursor: this.source.latest, waiting: null };
      batch.put(this.progress, { ...progress, ...(request.enabled && !now.enabled && anew) });
      return this.write(batch, { ...now, ...request }, 'webhook.changed', by, ifMatch);
    });
  }

  /** Throws 404. */
  rotate(id: string, by: string): Promise<StoredWebhook> {
    return this.collections.commit((batch) =>
      this.write(batch, { ...this.hooks.get(id), secret: newSecret() }, 'webhook.changed', by),
    );
  }

  /** Throws 404, 412. */
  remove(id: string, ifMatch: string | null, by: string): Promise<void> {
    return this.collections.commit((batch) => {
      const hook = this.hooks.get(id);
      batch.remove(this.hooks, id, ifMatch);
      batch.remove(this.progress, id);
      batch.also((transaction) => this.events.appendIn(transaction, told(hook, 'webhook.removed', by)));
    });
  }

  /**
   * Stores how far a webhook has come, and tells what came of it. It never goes back: one that was enabled again meanwhile has begun
   * later; no event waits that it is done with. One that was removed leaves nothing.
   */
  advance(
    hook: StoredWebhook,
    next: (now: WebhookProgress) => WebhookProgress,
    news: readonly EventDraft[] = [],
  ): Promise<void> {
    return this.collections.commit((batch) => {
      if (!this.hooks.find(hook.id)) return;
      const now = this.progressOf(hook.id);
      const progress = next(now);
      const isBehind = compareIds(progress.cursor, now.cursor) < 0;
      const { cursor, waiting } = isBehind ? now : progress;
      const waits = waiting !== null && compareIds(waiting.event_id, cursor) > 0;
      batch.put(this.progress, { ...progress, cursor, waiting: waits ? waiting : null });
      for (const draft of news) batch.also((transaction) => this.events.appendIn(transaction, draft));
    });
  }

  private write(
    batch: Batch,
    hook: StoredWebhook,
    type: 'webhook.added' | 'webhook.changed',
    by: string,
    ifMatch: string | null = null,
  ): StoredWebhook {
    batch.put(this.hooks, hook, ifMatch);
    batch.also((transaction) => this.events.appendIn(transaction, told(hook, type, by)));
    return hook;
  }
}

const WORDS = { 'webhook.added': 'added', 'webhook.changed': 'changed', 'webhook.removed': 'removed' } as const;

function told({ id, title }: StoredWebhook, type: keyof typeof WORDS, actor: string): EventDraft {
  return { type, subject: id, message: `The webhook "${title}" was ${WORDS[type]}`, actor, data: { title } };
}
