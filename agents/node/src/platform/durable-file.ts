import {
  closeSync,
  constants,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import type { z } from 'zod';
import { firstIssue } from './first-issue.js';

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants;

/**
 * Replaces the file as a whole: after a crash at any moment it has the old content or the new. Whatever is in its
 * place, even a link to another file, is replaced, not written to.
 */
export function writeDurably(path: string, content: string, mode = 0o600): void {
  const directory = dirname(path);
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const temporary = `${path}.new`;
  rmSync(temporary, { force: true });
  const file = openSync(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
  try {
    writeFileSync(file, content);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(temporary, path);
  const folder = openSync(directory, 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

/**
 * Content of a JSON file, validated against its schema; null if there is none. `onBad` receives why a file cannot be
 * used.
 */
export function readJsonFile<S extends z.ZodType>(
  path: string,
  schema: S,
  onBad: (why: string) => void,
): z.infer<S> | null {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') onBad(`${path}: ${(error as Error).message}`);
    return null;
  }
  try {
    const parsed = schema.safeParse(JSON.parse(text));
    if (parsed.success) return parsed.data;
    onBad(`${path} is not usable: ${firstIssue(parsed.error)}`);
  } catch (error) {
    onBad(`${path} is not JSON: ${(error as Error).message}`);
  }
  return null;
}
