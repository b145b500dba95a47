import type { Accelerator, FieldError, LoadResult, SlotRef } from '@orrery/contract';

export const BOARDS = Symbol('BoardView');

/** FPGA boards, for other modules. */
export interface BoardView {
  accelerators(): readonly Accelerator[];
  /** Errors if the slot named by the field at `pointer` does not exist. */
  errorsOf(slot: SlotRef, pointer: string): FieldError[];
  /** Slots that plans may use only if they name them. */
  reserved(): readonly SlotRef[];
  /** Slots of failed boards, and faulty slots in use, as reported by connected agents. */
  broken(): readonly SlotRef[];
  lastLoad(board: string): LoadResult | null;
  /** Called when the state of a board or slot changes. */
  onChange(listener: () => void): void;
}
