import type { Overhead } from '@orrery/contract';
import { median } from '../../platform/median.js';

/** Five minutes of windows of one chain. */
const MOST_WINDOWS = 30;
const LEAST_WINDOWS = 3;
/** Ratio of the standard deviation of a normal variable to its median absolute deviation. */
const DEVIATION_BY_MAD = 1.4826;

interface Window {
  readonly mean_us: number;
  readonly sd_us: number;
  readonly packets: number;
  readonly t_ms: number;
}

/** The last windows of measurement of one overhead. Up to half of them may be outliers. */
export class OverheadRecord {
  private readonly windows: Window[] = [];

  add(window: Window): void {
    this.windows.push(window);
    if (this.windows.length > MOST_WINDOWS) this.windows.shift();
  }

  /** Null with less than three windows. */
  estimate(): Overhead | null {
    if (this.windows.length < LEAST_WINDOWS) return null;
    const mean = robust(this.windows.map(({ mean_us }) => mean_us));
    const sd = robust(this.windows.map(({ sd_us }) => sd_us));
    return {
      mean_us: mean.value,
      mean_error_us: mean.error,
      sd_us: sd.value,
      sd_error_us: sd.error,
      windows: this.windows.length,
      packets: this.windows.reduce((sum, { packets }) => sum + packets, 0),
      measured_ms: this.windows.at(-1)!.t_ms,
    };
  }
}

/** Median, and the standard deviation by the median absolute deviation from it. */
function robust(values: readonly number[]): { readonly value: number; readonly error: number } {
  const value = median(values);
  return { value, error: DEVIATION_BY_MAD * median(values.map((each) => Math.abs(each - value))) };
}
