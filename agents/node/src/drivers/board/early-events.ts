import type { ModuleSession } from './modules/module-adapter.js';

const MOST = 16;

/** Events of a module that arrive before their session exists. */
export class EarlyEvents {
  private kept: (readonly number[])[] = [];
  private missed = 0;

  add(words: readonly number[]): void {
    if (this.kept.length < MOST) this.kept.push(words);
    else this.missed++;
  }

  /** Null: they belong to an instance that is gone. Returns how many the session misses, for which there was no room. */
  handTo(session: ModuleSession | null): number {
    const { kept, missed } = this;
    this.kept = [];
    this.missed = 0;
    if (!session) return 0;
    for (const words of kept) session.event(words);
    return missed;
  }
}
