import type { ServerResponse } from 'node:http';
import type { Event } from '@orrery/contract';
import type { EventSource } from '../../ports/event-log.js';
import { EventPump } from './event-pump.js';

const KEEPALIVE_MS = 15_000;
/** A client that reads nothing for this long is disconnected. */
const STUCK_MS = 20_000;
/** After the end of the stream the client has this long to read what is still unsent. */
const FAREWELL_MS = 1000;

export interface EventResponseSettings {
  readonly source: EventSource;
  /** Id of the event after which the stream begins. */
  readonly from: string;
  /** Only events of this type are sent; undefined: all. */
  readonly type: string | undefined;
}

/** Sends the log to one client as server-sent events. The headers are sent already. No error of the client is thrown. */
export class EventResponse {
  private readonly pump: EventPump;
  private readonly keepalive: NodeJS.Timeout;
  private farewell: NodeJS.Timeout | null = null;

  constructor(
    private readonly raw: ServerResponse,
    { source, from, type }: EventResponseSettings,
  ) {
    // Stays for good: an error without a listener ends the process, and Fastify's listener takes only one.
    raw.on('error', () => raw.destroy());
    raw.write(': stream of events\n\n');
    this.keepalive = setInterval(() => raw.write(': \n\n'), KEEPALIVE_MS);
    const reader = {
      event: (event: Event) => (type && event.type !== type ? undefined : this.send(event)),
      reset: (snapshotAt: string) => {
        raw.write(`event: reset\nid: ${snapshotAt}\ndata: {"snapshot_at":"${snapshotAt}"}\n\n`);
      },
    };
    this.pump = new EventPump(source, reader, from, () => this.finish());
    raw.on('close', () => {
      this.finish();
      if (this.farewell) clearTimeout(this.farewell);
    });
  }

  /** Ends the stream. The connection of a client that does not read is cut a second later. */
  finish(): void {
    if (this.farewell) return;
    clearInterval(this.keepalive);
    this.pump.end();
    this.raw.end();
    this.farewell = setTimeout(() => this.raw.destroy(), FAREWELL_MS).unref();
  }

  private send(event: Event): Promise<void> | void {
    const { raw } = this;
    if (raw.write(`id: ${event.id}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)) return;
    return new Promise((resolve, reject) => {
      const stuck = setTimeout(() => raw.destroy(), STUCK_MS);
      raw.once('drain', () => {
        clearTimeout(stuck);
        raw.off('close', gone);
        resolve();
      });
      const gone = () => {
        clearTimeout(stuck);
        reject(new Error('the client has gone'));
      };
      raw.once('close', gone);
    });
  }
}
