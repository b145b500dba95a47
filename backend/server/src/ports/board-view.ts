import type { Accelerator, FieldError, LoadResult, SlotRef } from '@orrery/contract';

export const BOARDS = Symbol('BoardView');

/** FPGA boards as everyone else needs to know them. */
export interface BoardView {
  accelerators(): readonly Accelerator[];
  /** What is wrong with a slot that the field at `pointer` names: nothing, or that there is none. */
  errorsOf(slot: SlotRef, pointer: string): FieldError[];
  /** Slots that plans may use only where they are named. */
  reserved(): readonly SlotRef[];
  /** Slots of boards that do not work, and slots in use that are faulty, as far as a connected agent says so. */
  broken(): readonly SlotRef[];
  lastLoad(board: string): LoadResult | null;
  /** Called when the state of a board or slot changed. */
  onChange(listener: () => void): void;
}
