import type { LinkSample } from '@orrery/contract';
import type { PathTrouble } from '../../ports/data-path.js';

/** The twin reports its links every second; those of which it says nothing for longer are not newly told to be down. */
const SILENT_MS = 5000;
/** By then a twin that hangs has been replaced, with all of its links. */
const FORGOTTEN_MS = 30_000;

const NONE: ReadonlyMap<string, LinkSample> = new Map();

/** Links as the twin last reported them. Times are of one monotonic clock. */
export class EmulatedLinks {
  private samples = NONE;
  private atMs = Number.NEGATIVE_INFINITY;

  take(links: readonly LinkSample[], nowMs: number): void {
    if (links.length === 0) return;
    this.samples = new Map(links.map((link) => [link.link_id, link]));
    this.atMs = nowMs;
  }

  /** As reported now; none while the twin is silent. */
  reported(nowMs: number): ReadonlyMap<string, LinkSample> {
    return nowMs - this.atMs < SILENT_MS ? this.samples : NONE;
  }

  /** Links that were down when the twin fell silent and are told so: nobody has said that they are up again. */
  unmended(told: readonly PathTrouble[], nowMs: number): ReadonlySet<string> {
    const silentMs = nowMs - this.atMs;
    if (silentMs < SILENT_MS || silentMs >= FORGOTTEN_MS) return new Set();
    const ids = told.flatMap(({ link }) => link?.id ?? []);
    return new Set(ids.filter((id) => this.samples.get(id)?.up === false));
  }
}
