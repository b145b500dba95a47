const MODULUS = 2 ** 32;

/** Running sums of 32-bit counters that wrap; read them at least once per wrap. */
export class WrappingCounters {
  private readonly sums: number[] = [];
  private before: readonly number[] = [];

  /** The registers restart from zero. */
  restart(): void {
    this.before = [];
  }

  /** Takes readings, always of the same registers in the same order, and returns their sums. */
  add(readings: readonly number[]): readonly number[] {
    readings.forEach((now, i) => {
      this.sums[i] = (this.sums[i] ?? 0) + ((now - (this.before[i] ?? 0) + MODULUS) % MODULUS);
    });
    this.before = readings;
    return this.sums;
  }
}
