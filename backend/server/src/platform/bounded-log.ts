import { copyFile, type FileHandle, open, rename, stat, truncate } from 'node:fs/promises';

const LIMIT_BYTES = 1024 * 1024;
const PERIOD_MS = 1000;

/** A log that another process appends to, kept below about twice the limit; the older part is in `<path>.1`. */
export class BoundedLog {
  private timer: NodeJS.Timeout | null = null;

  constructor(
    readonly path: string,
    private readonly limitBytes = LIMIT_BYTES,
  ) {}

  /** The caller closes the handle once the process has inherited it. */
  append(): Promise<FileHandle> {
    return open(this.path, 'a', 0o600);
  }

  /** Like `append`, with a new file. */
  async begin(): Promise<FileHandle> {
    await rename(this.path, `${this.path}.1`).catch(ignoreMissing);
    return this.append();
  }

  /** Watches the size, including that of a log that an earlier server began. */
  watch(): void {
    this.timer ??= setInterval(() => void this.bound(), PERIOD_MS).unref();
  }

  unwatch(): void {
    if (this.timer) clearInterval(this.timer);
    this.timer = null;
  }

  /** Truncation is safe: the writer's descriptor has O_APPEND, so it continues at the start of the file. */
  async bound(): Promise<void> {
    try {
      if ((await stat(this.path)).size <= this.limitBytes) return;
      await copyFile(this.path, `${this.path}.1`);
      await truncate(this.path, 0);
    } catch {
      // A missing log needs no bound, and a failed copy is retried.
    }
  }
}

function ignoreMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error;
}
