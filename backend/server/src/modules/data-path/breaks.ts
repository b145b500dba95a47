import type { Count, PacketMeter } from './packet-meter.js';
import type { Section } from './sections.js';

/** Reports of the same packets may lie this far apart. */
export const REPORT_LAG_MS = 500;
/** How far back packets are looked for. */
export const LOOKBACK_MS = 10_000;
/** Fewer packets may have been lost by chance. */
const LEAST_PACKETS = 3;
/** Of so many packets over so long a time some pass an NF that refuses packets without counting them. */
const LEAST_UNREFUSED = 50;
const LEAST_UNREFUSED_MS = 8000;
/** Packets that nothing has counted for this long do not arrive. */
const SILENT_MS = 2000;
/** A counter that was not reported for this long, although the agent of its server is heard, counts nothing. */
const UNREPORTED_MS = 3000;

/** A section in which the last packets were all lost. */
export interface Break {
  readonly section: Section;
  readonly packets: number;
  /** From when on its packets were lost, as first found; monotonic clock. */
  readonly sinceMs: number;
}

/** The break of a section at this time; null: none. Precondition: the agents of the servers where it ends are heard. */
export function breakIn(section: Section, meter: PacketMeter, nowMs: number): Break | null {
  const passed = section.mayRefuse ? allPassedOn(section, meter, nowMs) : lastPassedOn(section, meter, nowMs);
  if (!passed) return null;
  for (const key of section.to.receives) {
    if (packetsOf(meter.reported(key, passed.fromMs, nowMs)) > 0) return null;
    const reportedMs = meter.reported(key, nowMs - LOOKBACK_MS, nowMs).at(-1)?.toMs ?? Number.NEGATIVE_INFINITY;
    if (reportedMs < passed.toMs && nowMs - reportedMs < UNREPORTED_MS) return null;
  }
  return { section, packets: Math.round(passed.packets), sinceMs: passed.fromMs };
}

/** Whether packets arrive again where they were lost, or none has been passed on for a while. */
export function isOver({ section }: Break, meter: PacketMeter, nowMs: number): boolean {
  const offered = section.from.passes.some((key) => packetsOf(meter.reported(key, nowMs - LOOKBACK_MS, nowMs)) > 0);
  return arrives(section, meter, nowMs) || !offered;
}

/** Whether packets of the section have arrived just now, of it or of another one that ends there. */
export function arrives({ to }: Section, meter: PacketMeter, nowMs: number): boolean {
  return to.receives.some((key) => packetsOf(meter.reported(key, nowMs - SILENT_MS, nowMs)) > 0);
}

/** All that was passed on; null: too little to tell a loss from what an NF refuses. */
function allPassedOn({ from }: Section, meter: PacketMeter, nowMs: number): Count | null {
  const passes = passedOn(from, meter, nowMs).filter(({ packets }) => packets > 0);
  const packets = packetsOf(passes);
  const fromMs = Math.min(...passes.map((each) => each.fromMs));
  const toMs = Math.max(...passes.map((each) => each.toMs));
  return packets >= LEAST_UNREFUSED && toMs - fromMs >= LEAST_UNREFUSED_MS ? { fromMs, toMs, packets } : null;
}

/** The latest reports of at least so many packets passed on that some would have arrived; null: not so many. */
function lastPassedOn({ from }: Section, meter: PacketMeter, nowMs: number): Count | null {
  const passes = passedOn(from, meter, nowMs);
  let packets = 0;
  for (const [n, count] of passes.entries()) {
    packets += count.packets;
    if (packets < LEAST_PACKETS) continue;
    const fromMs = Math.min(...passes.slice(0, n + 1).map((each) => each.fromMs));
    return { fromMs, toMs: passes[0]!.toMs, packets };
  }
  return null;
}

/** Reports of packets passed on, the latest first. */
function passedOn({ passes }: Section['from'], meter: PacketMeter, nowMs: number): Count[] {
  const counts = passes.flatMap((key) => meter.reported(key, nowMs - LOOKBACK_MS, nowMs - REPORT_LAG_MS));
  return counts.sort((a, b) => b.toMs - a.toMs);
}

function packetsOf(counts: readonly Count[]): number {
  return counts.reduce((total, { packets }) => total + packets, 0);
}
