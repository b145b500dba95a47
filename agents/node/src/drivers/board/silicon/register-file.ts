import { closeSync, openSync, readSync, writeSync } from 'node:fs';
import { BoardError } from '../board-port.js';

/** 32-bit registers of a board at byte offsets. */
export interface Registers {
  read(offset: number): number;
  write(offset: number, value: number): void;
  close(): void;
}

/**
 * Registers accessed through a file with aligned four-byte reads and writes, little-endian: the user device of Xilinx's
 * XDMA driver, /dev/mem, or a custom driver. A sysfs `resourceN` supports this for I/O ports only: memory needs mmap,
 * which Node does not have.
 */
export class RegisterFile implements Registers {
  private readonly word = Buffer.alloc(4);
  private readonly file: number;

  constructor(private readonly path: string) {
    this.file = attempt(path, () => openSync(path, 'r+'));
  }

  read(offset: number): number {
    const bytes = attempt(this.path, () => readSync(this.file, this.word, 0, 4, offset));
    if (bytes !== 4) throw new BoardError(`${this.path} has no register at 0x${offset.toString(16)}`, 'lost');
    return this.word.readUInt32LE(0);
  }

  write(offset: number, value: number): void {
    this.word.writeUInt32LE(value >>> 0, 0);
    attempt(this.path, () => writeSync(this.file, this.word, 0, 4, offset));
  }

  close(): void {
    closeSync(this.file);
  }
}

function attempt<T>(path: string, access: () => T): T {
  try {
    return access();
  } catch (error) {
    throw new BoardError(`${path}: ${(error as Error).message}`, 'lost');
  }
}
