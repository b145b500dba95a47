import type { EngineEnds } from '../nf-driver.js';
import type { BoardStatus } from './board-port.js';
import type { Netdevs } from './netdevs.js';

/**
 * Frames that a board loses when its power fails, which also clears its own counters: what the engine sent into a slot
 * and did not get back, by the counters of the engine's interfaces; at a switch what came to the board's own interfaces and
 * did not leave by them. It counts from the last reading of the board, so it
 * includes what the module dropped between that reading and the loss.
 */
export class PowerLoss {
  /** Frames already missing per slot; null: one of its interfaces does not exist. */
  private before: readonly (number | null)[] = [];

  constructor(
    private readonly slots: readonly EngineEnds[],
    private readonly netdevs: () => Netdevs,
    /** The interfaces are the board's own. */
    private readonly atSwitch = false,
  ) {}

  /**
   * Called after each reading of the board: what is missing and not held was dropped by the module, and is counted
   * there.
   */
  mark({ slots }: BoardStatus): void {
    const held = new Map(slots.map(({ slot, counters }) => [slot, counters.held]));
    this.before = this.missing().map((frames, slot) => frames && frames - (held.get(slot) ?? 0));
  }

  /** By slot, since the last reading of the board. */
  get lost(): number[] {
    return this.missing().map((now, slot) => {
      const before = this.before[slot] ?? null;
      return now === null || before === null ? 0 : Math.max(0, now - before);
    });
  }

  private missing(): (number | null)[] {
    const all = this.netdevs();
    return this.slots.map(({ near, far }) => {
      const [one, other] = [all.get(near), all.get(far)];
      if (!one || !other) return null;
      const sent = one.sent + other.sent - one.received - other.received;
      return this.atSwitch ? -sent : sent;
    });
  }
}
