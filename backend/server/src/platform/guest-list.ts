/**
 * Connections that have not signed in yet, at most `most` and at most `mostOfAddress` from one address. A newcomer replaces
 * the oldest one: who signs in at once is never kept out by others who only wait.
 */
export class GuestList {
  /** Oldest first. */
  private readonly guests = new Set<{ readonly address: string; readonly evict: () => void }>();

  constructor(
    private readonly most: number,
    private readonly mostOfAddress: number,
  ) {}

  get size(): number {
    return this.guests.size;
  }

  /** `evict` is called when another one takes the place. Returns a function that leaves; it may be called repeatedly. */
  enter(address: string, evict: () => void): () => void {
    const ofAddress = [...this.guests].filter((guest) => guest.address === address);
    const replaced =
      ofAddress.length >= this.mostOfAddress
        ? ofAddress[0]
        : this.guests.size >= this.most
          ? this.guests.values().next().value
          : undefined;
    if (replaced) {
      this.guests.delete(replaced);
      replaced.evict();
    }
    const guest = { address, evict };
    this.guests.add(guest);
    return () => void this.guests.delete(guest);
  }
}
