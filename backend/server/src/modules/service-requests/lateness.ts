interface Judged {
  readonly id: string;
  readonly isLate: boolean;
  /** Whether its bound is missed now; null: nothing is measured, which says neither. */
  readonly misses: boolean | null;
}

/** For how long requests have missed bounds, or kept them again, without a break; times are monotonic. */
export class Lateness {
  /** Since when requests have not been what they are said to be, by id. */
  private since = new Map<string, number>();

  constructor(
    private readonly lateAfterMs: number,
    private readonly keptAfterMs: number,
  ) {}

  /** Of all requests: those that have become late, and those that are late no more. */
  judge(all: readonly Judged[], nowMs: number): { readonly late: string[]; readonly kept: string[] } {
    const before = this.since;
    this.since = new Map();
    const late: string[] = [];
    const kept: string[] = [];
    for (const { id, isLate, misses } of all) {
      if (misses === null || isLate === misses) continue;
      const sinceMs = before.get(id) ?? nowMs;
      this.since.set(id, sinceMs);
      if (nowMs - sinceMs >= (misses ? this.lateAfterMs : this.keptAfterMs)) (misses ? late : kept).push(id);
    }
    return { late, kept };
  }

  forget(): void {
    this.since.clear();
  }
}
