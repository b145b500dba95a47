import { setTimeout as sleep } from 'node:timers/promises';
import { BoardError, ENTRY_WORDS, type TableEntry } from '../board-port.js';
import { at, field, word } from '../fields.js';
import { BOARD_MODULES, COMMON_REGISTERS } from '../registers.js';
import type { Registers } from './register-file.js';

const { ID, TABLE_COMMAND, TABLE_STATUS, TABLE_DATA } = COMMON_REGISTERS;
const OPERATION = { read: 1, put: 2 };
const TABLE_ENTRIES = 4096;
const DDOS_COUNTERS = 1024;
const BUSY_LIMIT_MS = 1000;
/** Register reads are synchronous; after this many entries, other work gets a turn. */
const ENTRIES_A_TURN = 64;

/** The flow table of a module, through its registers. */
export class TableAccess {
  constructor(
    private readonly registers: Registers,
    private readonly base: number,
  ) {}

  /** Reads the table from beginning to end. IN_USE is no bound: packets change the table in the meantime. */
  async export(most: number): Promise<TableEntry[]> {
    const entries: TableEntry[] = [];
    const places = this.places();
    for (let index = 0; index < places && entries.length < most; index++) {
      if (index % ENTRIES_A_TURN === 0) await sleep(0);
      const status = await this.command(OPERATION.read, index);
      if (field(TABLE_STATUS.fields.VALID, status) === 1)
        entries.push(Array.from({ length: ENTRY_WORDS }, (_, i) => this.registers.read(this.base + at(TABLE_DATA, i))));
    }
    return entries;
  }

  /** Returns how many did not fit. */
  async import(entries: readonly TableEntry[]): Promise<number> {
    let refused = 0;
    for (const [n, entry] of entries.entries()) {
      if (n % ENTRIES_A_TURN === 0) await sleep(0);
      entry.forEach((value, i) => {
        this.registers.write(this.base + at(TABLE_DATA, i), value);
      });
      refused += field(TABLE_STATUS.fields.FULL, await this.command(OPERATION.put, 0));
    }
    return refused;
  }

  private places(): number {
    const id = this.registers.read(this.base + ID.address);
    return id === BOARD_MODULES.nf_ddos_detector.id ? DDOS_COUNTERS : TABLE_ENTRIES;
  }

  private async command(operation: number, index: number): Promise<number> {
    this.registers.write(
      this.base + TABLE_COMMAND.address,
      word(TABLE_COMMAND, { OPERATION: operation, INDEX: index }),
    );
    const deadline = performance.now() + BUSY_LIMIT_MS;
    for (;;) {
      const status = this.registers.read(this.base + TABLE_STATUS.address);
      if (field(TABLE_STATUS.fields.BUSY, status) === 0) return status;
      if (performance.now() > deadline) throw new BoardError('the table stays busy', 'failed');
      await sleep(0);
    }
  }
}
