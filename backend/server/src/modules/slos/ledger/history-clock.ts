import { z } from 'zod';

/** By so much the wall clock may be ahead of the monotonic one, or behind, and is followed: it is set right in small steps. */
const FOLLOWED_MS = 2000;
/** A server counts as down for no longer: nothing tells a longer time from a wall clock that is wrong. */
const MOST_DOWN_MS = 86_400_000;
/** Jumps of the wall clock that are remembered: the latest. */
const MOST_JUMPS = 16;

/** What is stored: the same moment by both clocks. */
export const StoredClock = z.object({ history_ms: z.coerce.number(), wall_ms: z.coerce.number() });
export type StoredClock = z.infer<typeof StoredClock>;

/**
 * The time that seconds of objectives are counted in. It goes on with the monotonic clock and never back, so that no jump of the
 * wall clock makes history pass; how far the wall clock is ahead of it tells when something was, as far as it is set right now.
 */
export class HistoryClock {
  private nowMs: number | null = null;
  private seenMs = 0;
  private aheadMs = 0;
  /** How far the wall clock was ahead before each jump, the oldest first. */
  private jumps: { readonly untilMs: number; readonly aheadMs: number }[] = [];

  /** `stored`: null before the first server. */
  constructor(private readonly stored: StoredClock | null) {}

  /** The history's time now, given what both clocks say. */
  at(wallMs: number, monotonicMs: number): number {
    if (this.nowMs === null) {
      const { history_ms, wall_ms } = this.stored ?? { history_ms: wallMs, wall_ms: wallMs };
      this.nowMs = history_ms + Math.min(MOST_DOWN_MS, Math.max(0, wallMs - wall_ms));
      this.aheadMs = wallMs - this.nowMs;
    } else {
      const elapsedMs = Math.max(0, monotonicMs - this.seenMs);
      this.nowMs += elapsedMs;
      const behindMs = wallMs - this.aheadMs - this.nowMs;
      if (Math.abs(behindMs) <= FOLLOWED_MS) this.nowMs += Math.max(-elapsedMs, behindMs);
      else this.jumpTo(wallMs - this.nowMs, this.nowMs - elapsedMs);
    }
    this.seenMs = monotonicMs;
    return this.nowMs;
  }

  /** What the wall clock said then, if it was as right as now. */
  wallOf(historyMs: number): number {
    return Math.max(0, Math.round(historyMs + this.aheadMs));
  }

  /** What the wall clock said then, right or wrong: events of that time have this time. */
  saidAt(historyMs: number): number {
    const jump = this.jumps.find(({ untilMs }) => historyMs <= untilMs);
    return Math.max(0, Math.round(historyMs + (jump?.aheadMs ?? this.aheadMs)));
  }

  historyOf(wallMs: number): number {
    return wallMs - this.aheadMs;
  }

  /** `untilMs`: the last time that it was seen not to have jumped. */
  private jumpTo(aheadMs: number, untilMs: number): void {
    this.jumps = [...this.jumps.slice(1 - MOST_JUMPS), { untilMs, aheadMs: this.aheadMs }];
    this.aheadMs = aheadMs;
  }
}
