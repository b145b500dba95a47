import type { EventDraft } from '@orrery/contract';
import type { EventLog } from '../ports/event-log.js';

const PERIOD_MS = 60_000;
const MOST_PER_PERIOD = 20;
const MOST_KEYS = 1000;

/**
 * Records what strangers can cause, such as wrong secrets, without letting them flood the log: one event per key and minute
 * with the number of repetitions, and at most twenty per minute in total. The rest is counted in the next one.
 */
export class BoundedAudit {
  private periodMs = Number.NEGATIVE_INFINITY;
  private written = 0;
  private unwritten = 0;
  private readonly counts = new Map<string, number>();

  constructor(
    private readonly events: Pick<EventLog, 'append'>,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** `draftOf` gets how often it happened unrecorded since the last event. */
  note(key: string, draftOf: (unrecorded: number) => EventDraft): void {
    const now = this.now();
    if (now - this.periodMs >= PERIOD_MS) {
      this.periodMs = now;
      this.written = 0;
      this.unwritten += [...this.counts.values()].reduce((sum, count) => sum + count, 0);
      this.counts.clear();
    }
    const count = this.counts.get(key);
    if (count !== undefined) return void this.counts.set(key, count + 1);
    if (this.written >= MOST_PER_PERIOD || this.counts.size >= MOST_KEYS) {
      this.unwritten++;
      return;
    }
    this.counts.set(key, 0);
    this.written++;
    this.events.append(draftOf(this.unwritten));
    this.unwritten = 0;
  }
}
