import type { Accelerator, BoardNode, NfInstance, SlotState } from '@orrery/contract';

/** A slot in its board's box, relative to the server's centre. */
export interface SlotRow {
  readonly slot: number;
  /** While the board starts, that. */
  readonly state: SlotState | 'starting';
  readonly module: string | null;
  /** Of the row's middle. */
  readonly y: number;
  /** The instance that is drawn in it, if there is one. */
  readonly instance: NfInstance | null;
}

/** A board in its server, or by itself at a switch, relative to the centre of that. */
export interface BoardBox {
  readonly id: string;
  readonly title: string;
  readonly device: string;
  /** Whose agent drives it. */
  readonly server: string;
  /** At which its ports hang; none beside an engine. */
  readonly switches: readonly string[];
  readonly emulated: boolean;
  readonly state: Accelerator['state'] | 'unknown';
  readonly slots: readonly SlotRow[];
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
}

export const BOARD_HEADER_H = 26;
const SLOT_H = 28;
const GAP = 6;

const heightOf = (slots: number) => BOARD_HEADER_H + slots * SLOT_H + 2;

/** Height of a server's boards below its cores. */
export function boardsHeight(boards: readonly BoardNode[]): number {
  return boards.reduce((sum, { slots }) => sum + heightOf(slots) + GAP, 0);
}

/** Boards stacked from `top` down, with the state of their slots as reported by agents. */
export function boardBoxes(
  boards: readonly BoardNode[],
  accelerators: readonly Accelerator[],
  instances: readonly NfInstance[],
  top: number,
  w: number,
): BoardBox[] {
  let y = top;
  return boards.map((board) => {
    const known = accelerators.find(({ id }) => id === board.id);
    const isStarting = known?.state === 'starting';
    const h = heightOf(board.slots);
    const first = y + BOARD_HEADER_H + SLOT_H / 2;
    const slots = Array.from({ length: board.slots }, (_, slot): SlotRow => {
      const now = known?.slots.find((each) => each.slot === slot);
      const instance = instances.find(({ id }) => id === now?.instance_id) ?? null;
      return {
        slot,
        state: isStarting ? 'starting' : (now?.state ?? 'unknown'),
        module: isStarting ? null : (now?.module ?? null),
        y: first + slot * SLOT_H,
        instance,
      };
    });
    const box: BoardBox = {
      id: board.id,
      title: board.title ?? board.id,
      device: board.device,
      server: board.server,
      switches: known?.switches ?? [],
      emulated: known?.description?.emulated ?? board.origin === 'twin',
      state: known?.state ?? 'unknown',
      slots,
      x: 0,
      y: y + h / 2,
      w,
      h,
    };
    y += h + GAP;
    return box;
  });
}

/** What a slot does, in a word or two. */
export function slotWords({ state, module }: Pick<SlotRow, 'state' | 'module'>): string {
  if (state === 'empty') return 'idle';
  return module ? `${state} ${module}` : state;
}
