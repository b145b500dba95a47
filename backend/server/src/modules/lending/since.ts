/** Since when things have been so, by name. Times are of a monotonic clock. */
export class Since {
  private readonly times = new Map<string, number>();

  /** For how long it has been so without a break; null: it is not. */
  note(name: string, isSo: boolean, nowMs: number): number | null {
    if (!isSo) {
      this.times.delete(name);
      return null;
    }
    const sinceMs = this.times.get(name) ?? nowMs;
    this.times.set(name, sinceMs);
    return nowMs - sinceMs;
  }

  forget(name: string): void {
    this.times.delete(name);
  }

  keepOnly(names: ReadonlySet<string>): void {
    for (const name of this.times.keys()) if (!names.has(name)) this.times.delete(name);
  }
}
