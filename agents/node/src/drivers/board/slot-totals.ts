import type { SlotCounters } from './board-port.js';

export type SlotTotal = Omit<SlotCounters, 'held'>;
type Readings = readonly { readonly slot: number; readonly counters: SlotCounters }[];

const NONE: SlotTotal = {
  frames_in: 0,
  frames_out: 0,
  bytes_in: 0,
  bytes_out: 0,
  dropped: 0,
  bypassed: 0,
  no_hop: 0,
};
const NAMES = Object.keys(NONE) as (keyof SlotTotal)[];

/** Counters of slots that never restart: a power failure sets the board's own to zero. */
export class SlotTotals {
  private readonly carried = new Map<number, SlotTotal>();
  private readonly latest = new Map<number, SlotTotal>();

  of(slot: number): SlotTotal {
    return this.latest.get(slot) ?? NONE;
  }

  read(slots: Readings): void {
    for (const { slot, counters } of slots) {
      const carried = this.carried.get(slot) ?? NONE;
      this.latest.set(
        slot,
        total((name) => carried[name] + counters[name]),
      );
    }
  }

  /**
   * The first reading after a power failure. `lost`: frames by slot that the board has lost since the reading before,
   * those that it dropped after the failure included, also for want of a next hop.
   */
  restart(slots: Readings, lost: readonly number[]): void {
    for (const { slot, counters } of slots) {
      const before = this.of(slot);
      const unknown = Math.max(0, (lost[slot] ?? 0) - counters.dropped - counters.no_hop);
      this.carried.set(slot, { ...before, dropped: before.dropped + unknown });
    }
    this.read(slots);
  }
}

function total(value: (name: keyof SlotTotal) => number): SlotTotal {
  return Object.fromEntries(NAMES.map((name) => [name, value(name)])) as unknown as SlotTotal;
}
