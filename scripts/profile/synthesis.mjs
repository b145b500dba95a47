import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { ROOT } from '../setup/paths.mjs';

/** Committed result of `fpga/syn/run.py` for the slot module of an NF; null without one. */
export function synthesisOf(nf) {
  const file = resolve(ROOT, `fpga/syn/results/nf_${nf.replaceAll('-', '_')}.json`);
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : null;
}
