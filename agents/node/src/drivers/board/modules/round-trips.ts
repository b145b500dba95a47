const KEPT = 1024;

/** Round-trip times of the latest answers, in microseconds. */
export class RoundTrips {
  private readonly times: number[] = [];
  private count = 0;

  add(us: number): void {
    this.times[this.count++ % KEPT] = us;
  }

  /** Null before the first. */
  summary(): { count: number; p50_us: number; p99_us: number; most_us: number } | null {
    if (this.count === 0) return null;
    const sorted = [...this.times].sort((a, b) => a - b);
    const at = (part: number) => Math.round(sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))]!);
    return { count: this.count, p50_us: at(0.5), p99_us: at(0.99), most_us: Math.round(sorted.at(-1)!) };
  }
}
