/** A bounded number of places, of which one owner gets only some. */
export class Places {
  private taken = 0;
  private readonly takenBy = new Map<string, number>();

  constructor(
    private readonly most: number,
    private readonly mostOfOwner: number,
  ) {}

  /** Returns a function that gives the place back, once; null: there is none. */
  take(owner: string): (() => void) | null {
    const before = this.takenBy.get(owner) ?? 0;
    if (this.taken >= this.most || before >= this.mostOfOwner) return null;
    this.change(owner, 1);
    let held = true;
    return () => {
      if (held) this.change(owner, -1);
      held = false;
    };
  }

  private change(owner: string, by: 1 | -1): void {
    this.taken += by;
    const now = (this.takenBy.get(owner) ?? 0) + by;
    if (now === 0) this.takenBy.delete(owner);
    else this.takenBy.set(owner, now);
  }
}
