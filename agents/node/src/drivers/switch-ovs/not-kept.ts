import type { SwitchReading } from '../switch-driver.js';

const NO_ROOM = 'their split has no room';

/**
 * Packets with which flows began for which a split had no room, since the agent started, from counters of the switch that began earlier and begin
 * anew when somebody deletes them.
 */
export class NotKept {
  private readonly last = new Map<number, number>();
  private readonly packets = new Map<number, number>();

  /** Counters by split. What one has when it is first seen is of earlier. */
  take(counters: ReadonlyMap<number, number>): void {
    for (const split of this.last.keys()) if (!counters.has(split)) this.last.delete(split);
    for (const [split, now] of counters) {
      const before = this.last.get(split) ?? now;
      const more = now >= before ? now - before : now;
      if (more > 0) this.packets.set(split, (this.packets.get(split) ?? 0) + more);
      this.last.set(split, now);
    }
  }

  get figures(): Pick<SwitchReading, 'without_room' | 'unkept'> {
    const all = [...this.packets.values()].reduce((sum, packets) => sum + packets, 0);
    return { without_room: new Map(this.packets), unkept: all > 0 ? { [NO_ROOM]: all } : {} };
  }
}
