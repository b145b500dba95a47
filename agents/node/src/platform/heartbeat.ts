import { monotonicMs } from './monotonic.js';

export interface HeartbeatTiming {
  period_ms: number;
  /** Silence after which a peer counts as unresponsive. */
  silent_ms: number;
  /** Silence after which it is given up. */
  dead_ms: number;
}

/** docs/reliability.md states these limits. */
export const HEARTBEAT: HeartbeatTiming = { period_ms: 200, silent_ms: 1000, dead_ms: 5000 };

export interface HeartbeatListener {
  silent(): void;
  /** It answers again. */
  back(silent_ms: number): void;
  /** Called once; the heartbeat has then stopped. */
  dead?(): void;
}

/**
 * Asks a peer for a sign of life at a fixed interval. `beat` resolves with each sign; a rejection is none. One question
 * at a time. While this process itself does not run, the peer's silence does not count.
 */
export class Heartbeat {
  private readonly timer: NodeJS.Timeout;
  private asking = false;
  private heardMs: number;
  private tickMs: number;
  private silentSinceMs: number | null = null;
  private stopped = false;

  constructor(
    private readonly beat: () => Promise<unknown>,
    private readonly listener: HeartbeatListener,
    private readonly timing: HeartbeatTiming = HEARTBEAT,
    private readonly clock: () => number = monotonicMs,
  ) {
    this.heardMs = this.tickMs = clock();
    this.timer = setInterval(() => this.tick(), timing.period_ms).unref();
  }

  get isSilent(): boolean {
    return this.silentSinceMs !== null;
  }

  stop(): void {
    this.stopped = true;
    clearInterval(this.timer);
  }

  private tick(): void {
    const { silent_ms, dead_ms } = this.timing;
    const nowMs = this.clock();
    // Answers to a process that was stopped or starved are only read after its timers ran.
    const stalledMs = nowMs - this.tickMs - this.timing.period_ms;
    if (stalledMs > silent_ms / 2) this.heardMs += stalledMs;
    this.tickMs = nowMs;
    void this.ask();
    const silenceMs = nowMs - this.heardMs;
    if (silenceMs >= silent_ms && this.silentSinceMs === null) {
      this.silentSinceMs = this.heardMs;
      this.listener.silent();
    }
    if (silenceMs >= dead_ms && !this.stopped) {
      this.stop();
      this.listener.dead?.();
    }
  }

  private async ask(): Promise<void> {
    if (this.asking) return;
    this.asking = true;
    try {
      await this.beat();
      this.heard();
    } catch {
      // Its silence is what counts.
    } finally {
      this.asking = false;
    }
  }

  private heard(): void {
    if (this.stopped) return;
    const nowMs = this.clock();
    this.heardMs = nowMs;
    if (this.silentSinceMs === null) return;
    const silentMs = nowMs - this.silentSinceMs;
    this.silentSinceMs = null;
    this.listener.back(silentMs);
  }
}
