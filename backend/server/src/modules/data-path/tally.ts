/** How long packets are kept. */
const KEEP_MS = 15_000;

/** Packets counted between two readings of a counter. */
interface Counted {
  readonly fromMs: number;
  readonly toMs: number;
  readonly packets: number;
}

/** What a counter grew by over the last seconds; times are of one clock. */
export class Tally {
  private readonly parts: Counted[] = [];

  add(packets: number, fromMs: number, toMs: number): void {
    if (packets > 0) this.parts.push({ fromMs, toMs, packets });
    while (this.parts[0] && this.parts[0].toMs < toMs - KEEP_MS) this.parts.shift();
  }

  between(fromMs: number, toMs: number): number {
    return packetsBetween(this.parts, fromMs, toMs);
  }
}

/** Packets counted between two times; what was counted partly between them counts in proportion. */
export function packetsBetween(parts: readonly Counted[], fromMs: number, toMs: number): number {
  return parts.reduce((sum, part) => {
    const insideMs = Math.min(toMs, part.toMs) - Math.max(fromMs, part.fromMs);
    return insideMs > 0 ? sum + (part.packets * insideMs) / (part.toMs - part.fromMs) : sum;
  }, 0);
}
