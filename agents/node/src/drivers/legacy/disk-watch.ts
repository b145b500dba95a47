import { setTimeout as sleep } from 'node:timers/promises';
import { log } from '../../platform/log.js';
import { monotonicMs } from '../../platform/monotonic.js';
import { type DiskUse, deletedUse, diskUse } from './disk-use.js';

const PERIOD_MS = 1000;
/** A look at very many files takes at most a quarter of the time. */
const REST = 3;
/** To look through the open files of all processes costs more than to look through a folder. */
const DELETED_EACH = 10;

export interface Watched {
  /** Where its files are. */
  folder: string;
  limit_bytes: number;
  /** Its processes, which may hold open what they have deleted. */
  members(): readonly number[];
}

/** Measures what a program has on disk while it runs. */
export class DiskWatch {
  /** At the last look; null: there was none, or not all could be read. */
  used_bytes: number | null = null;
  /** Why not all could be read; null: it could. */
  unread: string | null = null;
  private readonly ending = new AbortController();

  constructor(
    readonly watched: Watched,
    private readonly period_ms = PERIOD_MS,
  ) {}

  /** Calls `onExcess` once, with what it has, when that is the limit or more. Goes on until then or `stop`. */
  start(onExcess: (used_bytes: number) => void): void {
    void this.watch(onExcess).catch((error) => log('warning', `${this.watched.folder}: ${error.message}`));
  }

  stop(): void {
    this.ending.abort();
  }

  private async watch(onExcess: (used_bytes: number) => void): Promise<void> {
    const { folder, limit_bytes, members } = this.watched;
    const { signal } = this.ending;
    let deleted: DiskUse = { bytes: 0, unread: null };
    for (let looks = 0; !signal.aborted; looks++) {
      const begun_ms = monotonicMs();
      if (looks % DELETED_EACH === 0) deleted = await deletedUse(folder, members());
      const there = await diskUse(folder, limit_bytes - deleted.bytes);
      const found_bytes = deleted.bytes + there.bytes;
      if (signal.aborted) return;
      this.tell(deleted.unread ?? there.unread);
      this.used_bytes = this.unread === null || found_bytes >= limit_bytes ? found_bytes : null;
      if (found_bytes >= limit_bytes) return onExcess(found_bytes);
      const rest_ms = Math.max(this.period_ms, REST * (monotonicMs() - begun_ms));
      await sleep(rest_ms, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }
  private tell(unread: string | null): void {
    if (unread !== null && this.unread === null)
      log(
        'warning',
        `${this.watched.folder}: not all in it can be read, and only what was found counts against its limit: ${unread}`,
      );
    this.unread = unread;
  }
}
