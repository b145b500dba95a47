import type { Event } from '@orrery/contract';
import type { EventSource } from '../../ports/event-log.js';

const READ_AT_ONCE = 200;

export interface EventReader {
  /** Takes one event; resolves when there is room for the next. Rejecting ends the pump. */
  event(event: Event): Promise<void> | void;
  /** The log was trimmed past the reader's position: it must read resources again and continues after `snapshotAt`. */
  reset(snapshotAt: string): void;
}

/** Delivers the log to one reader in order, each event once, at the reader's pace. */
export class EventPump {
  private running = false;
  private again = false;
  private ended = false;
  private readonly unsubscribe: () => void;

  constructor(
    private readonly source: EventSource,
    private readonly reader: EventReader,
    private cursor: string,
    private readonly onEnd: (error: unknown) => void,
  ) {
    this.unsubscribe = source.onNews(() => this.wake());
    this.wake();
  }

  /** The reader gets nothing more. */
  end(): void {
    this.ended = true;
    this.unsubscribe();
  }

  private wake(): void {
    if (this.running) {
      this.again = true;
      return;
    }
    this.running = true;
    this.run()
      .catch((error: unknown) => {
        if (this.ended) return;
        this.end();
        this.onEnd(error);
      })
      .finally(() => {
        this.running = false;
        if (this.again && !this.ended) this.wake();
      });
  }

  private async run(): Promise<void> {
    this.again = false;
    while (!this.ended) {
      const covered = await this.source.covers(this.cursor);
      if (this.ended) return;
      if (!covered) {
        this.cursor = this.source.latest;
        this.reader.reset(this.cursor);
      }
      const events = await this.source.after(this.cursor, READ_AT_ONCE);
      if (events.length === 0) return;
      for (const event of events) {
        if (this.ended) return;
        await this.reader.event(event);
        this.cursor = event.id;
      }
    }
  }
}
