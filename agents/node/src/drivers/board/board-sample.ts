import type { BoardSample } from '@orrery/contract';
import type { BoardStatus } from './board-port.js';
import type { SlotTotals } from './slot-totals.js';

/** Figures of a board for the console; CPU use of the emulation is averaged over the interval between the readings. */
export function sampleOf(board: string, before: BoardStatus | null, now: BoardStatus, totals: SlotTotals): BoardSample {
  return {
    board,
    cycles: now.cycles,
    slowdown: now.slowdown,
    cpu_share: shareOf(before, now),
    slots: now.slots.map(({ slot }) => {
      const { dropped: lost, ...counters } = totals.of(slot);
      return { slot, ...counters, lost };
    }),
  };
}

/** Figures of a board without power: the last known ones, plus what its slots lost since. */
export function absentSample(last: BoardSample, lost: readonly number[]): BoardSample {
  const slots = last.slots.map((slot) => ({ ...slot, lost: slot.lost + (lost[slot.slot] ?? 0) }));
  return { ...last, slowdown: null, cpu_share: null, slots };
}

function shareOf(before: BoardStatus | null, now: BoardStatus): number | null {
  if (!now.cpu || !before?.cpu) return null;
  const wall_s = now.cpu.wall_s - before.cpu.wall_s;
  return wall_s > 0 ? Math.max(0, now.cpu.used_s - before.cpu.used_s) / wall_s : null;
}
