import { closeSync, fstatSync, openSync, readSync } from 'node:fs';

const TAIL_BYTES = 4096;

/** The last part of a text file; empty if there is none. */
export function tail(path: string): string {
  try {
    const file = openSync(path, 'r');
    try {
      const { size } = fstatSync(file);
      const buffer = Buffer.alloc(Math.min(size, TAIL_BYTES));
      readSync(file, buffer, 0, buffer.length, size - buffer.length);
      return buffer.toString();
    } finally {
      closeSync(file);
    }
  } catch {
    return '';
  }
}
