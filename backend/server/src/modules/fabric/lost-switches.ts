/** For how long a switch must neither answer nor pass packets before these go around it. */
const GRACE_MS = 5000;
/** A lost switch is used again when it has been well for so long. */
const STABLE_MS = 5000;
/** What packets said longer ago counts no more. */
const STALE_MS = 2000;

const NOTHING: ReadonlyMap<string, boolean> = new Map();

/** Switches that neither answer nor pass packets; one that only does not answer is none of them. By a monotonic clock. */
export class LostSwitches {
  private passage = { by: NOTHING, atMs: Number.NEGATIVE_INFINITY };
  private readonly illSinceMs = new Map<string, number>();
  /** Since when each lost one is well again; null: it is not. */
  private readonly wellSinceMs = new Map<string, number | null>();

  get all(): ReadonlySet<string> {
    return new Set(this.wellSinceMs.keys());
  }

  /** Whether time has to go on for some of them. */
  get isWaiting(): boolean {
    return this.illSinceMs.size + this.wellSinceMs.size > 0;
  }

  take(passage: ReadonlyMap<string, boolean>, nowMs: number): void {
    this.passage = { by: passage, atMs: nowMs };
  }

  look(switches: readonly string[], isHeard: (id: string) => boolean, nowMs: number): void {
    for (const known of [this.illSinceMs, this.wellSinceMs])
      for (const id of known.keys()) if (!switches.includes(id)) known.delete(id);
    const by = nowMs - this.passage.atMs < STALE_MS ? this.passage.by : NOTHING;
    for (const id of switches) {
      if (this.wellSinceMs.has(id)) this.lookAgain(id, by.get(id), isHeard(id), nowMs);
      else if (by.get(id) === false && !isHeard(id)) this.isIll(id, nowMs);
      else this.illSinceMs.delete(id);
    }
  }

  private isIll(id: string, nowMs: number): void {
    const sinceMs = this.illSinceMs.get(id) ?? nowMs;
    this.illSinceMs.set(id, sinceMs);
    if (nowMs - sinceMs < GRACE_MS) return;
    this.illSinceMs.delete(id);
    this.wellSinceMs.set(id, null);
  }

  /** Packets that arrive over it say that it is well; where there are none, that it answers. */
  private lookAgain(id: string, passes: boolean | undefined, isHeard: boolean, nowMs: number): void {
    const sinceMs = (passes ?? isHeard) ? (this.wellSinceMs.get(id) ?? nowMs) : null;
    if (sinceMs !== null && nowMs - sinceMs >= STABLE_MS) this.wellSinceMs.delete(id);
    else this.wellSinceMs.set(id, sinceMs);
  }
}
