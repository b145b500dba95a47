import type { Accelerator, FieldError, LoadResult, SlotRef } from '@orrery/contract';

export const BOARDS = Symbol('BoardView');

/** Whether they are the same load; what it counts may still grow. */
export function sameLoad(one: LoadResult | null, other: LoadResult | null): boolean {
  if (!one || !other) return one === other;
  return one.slot === other.slot && one.module === other.module && one.measured_s === other.measured_s;
}

/** FPGA boards, for other modules. */
export interface BoardView {
  accelerators(): readonly Accelerator[];
  /** Errors if the slot named by the field at `pointer` does not exist. */
  errorsOf(slot: SlotRef, pointer: string): FieldError[];
  /** Slots that plans may use only if they name them. */
  reserved(): readonly SlotRef[];
  /** Slots of failed boards, and slots in use that are faulty or reloading, as reported by connected agents. */
  broken(): readonly SlotRef[];
  /**
   * Boards of which no slot can be used, as connected agents tell: failed, away, or not driven by them. One whose faulty slots
   * may be loaded again is not among them, nor one that starts.
   */
  lost(): readonly Accelerator[];
  /** Slots that load again what they ran and lost, which takes as long as any load. */
  reloading(): readonly SlotRef[];
  lastLoad(board: string): LoadResult | null;
  /** Called when the state of a board or slot changes. */
  onChange(listener: () => void): void;
}
