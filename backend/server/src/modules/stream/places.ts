/** A bounded number of places. */
export class Places {
  constructor(private left: number) {}

  /** False if none is left. */
  take(): boolean {
    if (this.left === 0) return false;
    this.left--;
    return true;
  }

  giveBack(): void {
    this.left++;
  }
}
