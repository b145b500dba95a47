/** Protocols that each have their own port space, in the order of the software NAT's exports. */
export const SPACES = [
  { name: 'tcp', protocol: 6 },
  { name: 'udp', protocol: 17 },
  { name: 'icmp', protocol: 1 },
] as const;

export interface ExternalEnd {
  address: number;
  port: number;
}

/**
 * Free external ports, by address and port space. The least recently used is allocated first, so that late packets of
 * an ended flow rarely reach another flow.
 */
export class PortPools {
  /** Free ports in the order of allocation; a Map keeps insertion order. */
  private readonly free: Map<number, Set<number>>[];

  constructor(
    readonly addresses: readonly number[],
    private readonly lo: number,
    private readonly hi: number,
  ) {
    this.free = SPACES.map(() => new Map(addresses.map((address) => [address, range(lo, hi)])));
  }

  /** Whether this end is in the range of the pools. */
  has({ address, port }: ExternalEnd): boolean {
    return this.addresses.includes(address) && port >= this.lo && port <= this.hi;
  }

  /**
   * A port of the host's own address, otherwise of the next address that has one (paired pooling where possible, RFC
   * 4787 4.1).
   */
  take(space: number, inside: number): ExternalEnd | null {
    const first = inside % this.addresses.length;
    for (let n = 0; n < this.addresses.length; n++) {
      const address = this.addresses[(first + n) % this.addresses.length]!;
      for (const port of this.free[space]!.get(address)!) {
        this.free[space]!.get(address)!.delete(port);
        return { address, port };
      }
    }
    return null;
  }

  /** False when it is out of range or taken. */
  takeExactly(space: number, { address, port }: ExternalEnd): boolean {
    return this.free[space]!.get(address)?.delete(port) ?? false;
  }

  /** Precondition: it is taken. */
  giveBack(space: number, { address, port }: ExternalEnd): void {
    this.free[space]!.get(address)?.add(port);
  }

  counts(): { address: number; free: Record<string, number> }[] {
    return this.addresses.map((address) => ({
      address,
      free: Object.fromEntries(SPACES.map(({ name }, space) => [name, this.free[space]!.get(address)!.size])),
    }));
  }
}

function range(lo: number, hi: number): Set<number> {
  const all = new Set<number>();
  for (let port = lo; port <= hi; port++) all.add(port);
  return all;
}
