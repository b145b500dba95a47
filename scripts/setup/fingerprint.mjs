import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { LOG_DIR, ROOT, WORK_DIR } from './paths.mjs';
import { SetupError } from './progress.mjs';

const STAMPS = resolve(WORK_DIR, 'stamps.json');
/** Stands instead of a fingerprint from the start of a step until its success. */
const BEGUN = 'begun';

const read = () => (existsSync(STAMPS) ? JSON.parse(readFileSync(STAMPS, 'utf8')) : {});

function write(name, print) {
  mkdirSync(WORK_DIR, { recursive: true });
  writeFileSync(`${STAMPS}.new`, JSON.stringify({ ...read(), [name]: print }, null, 2));
  renameSync(`${STAMPS}.new`, STAMPS);
}

/** Hash of the source files under the given paths (as git sees them, including local changes) and of `extra`. */
export function fingerprint(paths, extra = '') {
  const list = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '-z', '--', ...paths], {
    cwd: ROOT,
    maxBuffer: 1 << 26,
  });
  const hash = createHash('sha256').update(extra);
  for (const name of list.toString().split('\0').filter(Boolean).sort()) {
    const path = resolve(ROOT, name);
    if (existsSync(path) && statSync(path).isFile()) hash.update(`\0${name}\0`).update(readFileSync(path));
  }
  return hash.digest('hex');
}

/** Whether the step last succeeded on the same fingerprint and its products still exist. */
export function isDone(name, print, products) {
  return read()[name] === print && products.every((product) => existsSync(resolve(ROOT, product)));
}

/**
 * Runs `work` unless the step last succeeded on the same fingerprint and its products still exist. `work` is told
 * whether an earlier run of it did not succeed, so that its products may be half-made. Throws SetupError if a product is
 * missing after `work`.
 */
export async function unlessDone(name, print, products, work) {
  if (isDone(name, print, products)) return false;
  const halfMade = read()[name] === BEGUN;
  write(name, BEGUN);
  await work({ halfMade });
  // npm, for one, may exit with 0 half-way when its registry is unreachable.
  const missing = products.find((product) => !existsSync(resolve(ROOT, product)));
  if (missing)
    throw new SetupError(`The step "${name}" ended without an error but left no ${missing}; its log is in ${LOG_DIR}.`);
  write(name, print);
  return true;
}
