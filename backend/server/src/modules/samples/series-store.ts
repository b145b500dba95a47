import type { Series } from '@orrery/contract';

const FIRST_CAPACITY = 64;

/** Ring buffer of the latest points of one key; grows up to its bound. */
class Ring {
  private times = new Float64Array(FIRST_CAPACITY);
  private values = new Float64Array(FIRST_CAPACITY);
  private start = 0;
  private length = 0;
  /** When the newest point arrived; monotonic. */
  arrivedMs = 0;

  push(time: number, value: number, capacity: number): void {
    if (this.length === this.times.length) {
      if (this.length < capacity) this.grow(Math.min(capacity, this.length * 2));
      else {
        this.start = (this.start + 1) % this.times.length;
        this.length--;
      }
    }
    const at = (this.start + this.length) % this.times.length;
    this.times[at] = time;
    this.values[at] = value;
    this.length++;
  }

  since(time: number): [number, number][] {
    const points: [number, number][] = [];
    for (let index = 0; index < this.length; index++) {
      const at = (this.start + index) % this.times.length;
      if (this.times[at]! >= time) points.push([this.times[at]!, this.values[at]!]);
    }
    return points;
  }

  get newest(): number {
    return this.values[this.lastAt]!;
  }

  /** Of the newest point and those up to so long before it, by their own times. */
  meanOver(ms: number): number {
    const from = this.times[this.lastAt]! - ms;
    let [sum, count] = [0, 0];
    for (; count < this.length; count++) {
      const at = (this.start + this.length - 1 - count) % this.times.length;
      if (this.times[at]! < from) break;
      sum += this.values[at]!;
    }
    return sum / count;
  }

  private get lastAt(): number {
    return (this.start + this.length - 1) % this.times.length;
  }

  private grow(capacity: number): void {
    const points = this.since(Number.NEGATIVE_INFINITY);
    this.times = new Float64Array(capacity);
    this.values = new Float64Array(capacity);
    points.forEach(([time, value], index) => {
      this.times[index] = time;
      this.values[index] = value;
    });
    this.start = 0;
  }
}

/** Recent series by key. A key beyond the bound replaces the one that has been idle longest, if there is one. */
export class SeriesStore {
  /** In the order of their newest points. */
  private readonly rings = new Map<string, Ring>();

  constructor(
    private readonly pointsPerKey: number,
    private readonly maxKeys: number,
    private readonly quietMs: number,
  ) {}

  /** `time` is the point's; `nowMs` is monotonic. False if there is no room for another key. */
  push(key: string, time: number, value: number, nowMs: number): boolean {
    const known = this.rings.get(key);
    if (known) this.rings.delete(key);
    else if (this.rings.size >= this.maxKeys && !this.dropQuiet(nowMs)) return false;
    const ring = known ?? new Ring();
    this.rings.set(key, ring);
    ring.push(time, value, this.pointsPerKey);
    ring.arrivedMs = nowMs;
    return true;
  }

  /** The latest value that arrived at `sinceMs` or later, by the monotonic clock; null: none. */
  newest(key: string, sinceMs: number): number | null {
    const ring = this.rings.get(key);
    return ring && ring.arrivedMs >= sinceMs ? ring.newest : null;
  }

  /** The mean of the latest value and of those up to `overMs` before it, if that arrived at `sinceMs` or later; null: it did not. */
  mean(key: string, overMs: number, sinceMs: number): number | null {
    const ring = this.rings.get(key);
    return ring && ring.arrivedMs >= sinceMs ? ring.meanOver(overMs) : null;
  }

  /** `keys` are full keys, or prefixes if they end in `/`. */
  read(keys: readonly string[], since: number, unitOf: (key: string) => string): Series[] {
    const chosen = new Set<string>();
    for (const key of keys) {
      if (this.rings.has(key)) chosen.add(key);
      else if (key.endsWith('/')) for (const known of this.rings.keys()) if (known.startsWith(key)) chosen.add(known);
    }
    return [...chosen].map((key) => ({ key, unit: unitOf(key), points: this.rings.get(key)!.since(since) }));
  }

  private dropQuiet(nowMs: number): boolean {
    const [first] = this.rings;
    return first !== undefined && first[1].arrivedMs < nowMs - this.quietMs && this.rings.delete(first[0]);
  }
}
