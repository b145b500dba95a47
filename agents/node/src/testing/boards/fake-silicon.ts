import { writeFileSync } from 'node:fs';
import { field } from '../../drivers/board/fields.js';
import { BOARD_MODULES } from '../../drivers/board/registers.js';
import { RegisterFile, type Registers } from '../../drivers/board/silicon/register-file.js';
import type { ModelSlot } from './model-slot.js';

const SHELL = BOARD_MODULES.nf_shell;
const { SLOT_CONTROL, SLOT_STATUS } = SHELL.registers;
const SLOT_BASE = 0x10000;
const FILE_BYTES = 0x40000;
const EMPTY_SLOT = 0xf;

/**
 * Silicon behind an ordinary file: writes stay in the file, and the answers of the shell and modules are put there
 * before each read.
 */
export class FakeSilicon {
  readonly slots: (ModelSlot | null)[] = [null, null];

  constructor(readonly csr: string) {
    writeFileSync(csr, Buffer.alloc(FILE_BYTES));
    const registers = new RegisterFile(csr);
    registers.write(SHELL.registers.ID.address, SHELL.id);
    [0, 1].forEach((slot) => {
      registers.write(SLOT_CONTROL.address + slot * SLOT_CONTROL.stride, EMPTY_SLOT);
    });
    registers.close();
  }

  readonly slotConfigs = [0, 1].map((slot) => ({
    near: `n${slot}`,
    far: `f${slot}`,
    csr: (slot + 1) * SLOT_BASE,
    resources: { lut: 1000 },
  }));

  readonly open = (path: string): Registers => {
    const file = new RegisterFile(path);
    return {
      read: (offset) => {
        const value = this.value(offset, file);
        if (value !== null) file.write(offset, value);
        return file.read(offset);
      },
      write: (offset, value) => {
        file.write(offset, value);
        if (offset >= SLOT_BASE) this.slotAt(offset)?.write(offset % SLOT_BASE, value);
      },
      close: () => file.close(),
    };
  };

  /** Null: the content of the file. */
  private value(offset: number, file: Registers): number | null {
    if (offset >= SLOT_BASE) return this.slotAt(offset)?.read(offset % SLOT_BASE) ?? 0;
    const slot = [0, 1].find((n) => offset === SLOT_STATUS.address + n * SLOT_STATUS.stride);
    if (slot === undefined) return null;
    const held = field(SLOT_CONTROL.fields.HOLD, file.read(SLOT_CONTROL.address + slot * SLOT_CONTROL.stride));
    return held ? 3 : 0;
  }

  private slotAt(offset: number): ModelSlot | null {
    return this.slots[Math.floor(offset / SLOT_BASE) - 1] ?? null;
  }
}
