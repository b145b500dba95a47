import type { LoadThreshold } from '@orrery/contract';

export type Side = 'between' | 'above' | 'below';

/** Detects when a load has stayed beyond a threshold for long enough. Between the thresholds nothing is due. */
export class Hysteresis {
  private side: Side = 'between';
  private sinceMs = 0;

  /** The threshold beyond which the load has been continuously for `for_s`; null: neither. */
  due(load: number, { up, down, for_s }: LoadThreshold, nowMs: number): 'above' | 'below' | null {
    const side: Side = load > up ? 'above' : load < down ? 'below' : 'between';
    if (side !== this.side) {
      this.side = side;
      this.sinceMs = nowMs;
    }
    return side !== 'between' && nowMs - this.sinceMs >= for_s * 1000 ? side : null;
  }

  get now(): Side {
    return this.side;
  }

  reset(): void {
    this.side = 'between';
  }
}
