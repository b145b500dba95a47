import type { EngineEnds } from '../nf-driver.js';
import type { BoardStatus } from './board-port.js';
import type { Netdevs } from './netdevs.js';

/**
 * Frames that a board loses with its power, which takes its own counters away: what the engine sent into a slot and did
 * not get back from it, by the counters of the engine's ends. It counts from the last reading of the board, so what the
 * module itself dropped between that reading and the loss is among them.
 */
export class PowerLoss {
  /** What was missing of each slot already; null: one of its ends is not there. */
  private before: readonly (number | null)[] = [];

  constructor(
    private readonly slots: readonly EngineEnds[],
    private readonly netdevs: () => Netdevs,
  ) {}

  /** The board was read: what is missing but not held in it was dropped for a reason, and is counted there. */
  mark({ slots }: BoardStatus): void {
    const held = new Map(slots.map(({ slot, counters }) => [slot, counters.held]));
    this.before = this.missing().map((frames, slot) => frames && frames - (held.get(slot) ?? 0));
  }

  /** By slot, since the board was last read. */
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
      return one && other ? one.sent + other.sent - one.received - other.received : null;
    });
  }
}
