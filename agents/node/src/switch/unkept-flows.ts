/** How often it is told at most. */
const PERIOD_MS = 60_000;

type Counts = Readonly<Record<string, number>>;

/** Tells of packets whose flows were to be kept and got no entry. */
export class UnkeptFlows {
  private told: Counts = {};
  private told_ms: number | null = null;

  constructor(private readonly tell: (message: string, data: { packets: Counts }) => void) {}

  /** `counts`: since the agent started, by reason. */
  take(counts: Counts, now_ms: number): void {
    if (this.told_ms !== null && now_ms - this.told_ms < PERIOD_MS) return;
    const since = Object.entries(counts).map(([reason, all]) => [reason, all - (this.told[reason] ?? 0)] as const);
    const packets = since.filter(([, some]) => some > 0);
    this.told = counts;
    if (packets.length === 0) return;
    this.told_ms = now_ms;
    const reasons = packets.map(([reason, some]) => `${some}: ${reason}`).join('; ');
    this.tell(`Flows that began are not kept, by packets (${reasons})`, { packets: Object.fromEntries(packets) });
  }
}
