import type { Stats } from 'node:fs';
import { lstat, opendir, readdir, readlink, stat } from 'node:fs/promises';
import { DISK_BYTES, type LegacyProgram } from '@orrery/contract';

/** What a file counts at least, so that empty files and folders are bounded, too. */
const LEAST_BYTES = 4096;
/** Unit of `Stats.blocks` (stat(2)). */
const BLOCK_BYTES = 512;
const SLASH = Buffer.from('/');
const DELETED = ' (deleted)';
const GONE = new Set(['ENOENT', 'ENOTDIR', 'ESRCH']);

/** What a program may have in its folder. */
export const diskLimitOf = ({ disk_bytes }: Pick<LegacyProgram, 'disk_bytes'>): number => disk_bytes ?? DISK_BYTES;

/** Its output is a file, too, and is cut only when it is longer than it may be. */
const LEAST_FILE_BYTES = 64 * 2 ** 20;

/** The largest file that it may write, wherever that is. */
export const fileLimitOf = (program: Pick<LegacyProgram, 'disk_bytes'>): number =>
  Math.max(diskLimitOf(program), LEAST_FILE_BYTES);

/** Why a program was ended. */
export const tooMuchOnDisk = (limit_bytes: number): string =>
  `its files took ${mib(limit_bytes)}, which is as much as it may have: it was ended, and they are removed`;

export const fileTooLarge = (limit_bytes: number): string => `a file of it grew to ${mib(limit_bytes)}`;

const mib = (bytes: number) => `${Math.round((10 * bytes) / 2 ** 20) / 10} MiB`;

/** Disk space that was found. */
export interface DiskUse {
  /** At least. */
  readonly bytes: number;
  /** Why there may be more: the first thing that could not be read, and why; null: all was. */
  readonly unread: string | null;
}

/**
 * Disk space of everything below a folder; paths longer than the kernel accepts count as more than any limit. Stops soon
 * after it has found `enough_bytes`.
 */
export async function diskUse(folder: string, enough_bytes = Number.POSITIVE_INFINITY): Promise<DiskUse> {
  let bytes = 0;
  let unread: string | null = null;
  const missed = (error: unknown): null => {
    if (isTooLong(error)) bytes = Number.POSITIVE_INFINITY;
    else if (!isGone(error)) unread ??= (error as Error).message;
    return null;
  };
  const counted = new Set<string>();
  // Names are bytes: not all are text.
  const waiting = [Buffer.from(folder)];
  for (let path = waiting.pop(); path !== undefined && bytes < enough_bytes; path = waiting.pop()) {
    try {
      for await (const { name } of await opendir(path, { encoding: 'buffer' as BufferEncoding })) {
        const inside = Buffer.concat([path, SLASH, name as unknown as Buffer]);
        const found = await lstat(inside).catch(missed);
        if (found && !isCounted(found, counted)) {
          bytes += sizeOf(found);
          if (found.isDirectory()) waiting.push(inside);
        }
        if (bytes >= enough_bytes) break;
      }
    } catch (error) {
      missed(error);
    }
  }
  return { bytes, unread };
}

/** Disk space of files on the file system of a folder that processes have deleted and still hold open. */
export async function deletedUse(folder: string, pids: readonly number[]): Promise<DiskUse> {
  let bytes = 0;
  let unread: string | null = null;
  const missed = (error: unknown): null => {
    if (!isGone(error)) unread ??= (error as Error).message;
    return null;
  };
  const its = await stat(folder).catch(missed);
  const counted = new Set<number>();
  for (const pid of pids) {
    const open = `/proc/${pid}/fd`;
    for (const name of (await readdir(open).catch(missed)) ?? []) {
      // The kernel does not tell a path that is too long: it may be of a deleted file.
      const target = await readlink(`${open}/${name}`).catch((error) => (isTooLong(error) ? DELETED : missed(error)));
      if (!target?.endsWith(DELETED)) continue;
      const found = await stat(`${open}/${name}`).catch(missed);
      if (!found?.isFile() || found.nlink > 0 || found.dev !== its?.dev || counted.has(found.ino)) continue;
      counted.add(found.ino);
      bytes += sizeOf(found);
    }
  }
  return { bytes, unread };
}

const sizeOf = ({ blocks }: Stats) => Math.max(LEAST_BYTES, blocks * BLOCK_BYTES);

/** Whether it was counted under another name. */
function isCounted(found: Stats, counted: Set<string>): boolean {
  if (found.nlink < 2 || found.isDirectory()) return false;
  const key = `${found.dev}:${found.ino}`;
  if (counted.has(key)) return true;
  counted.add(key);
  return false;
}

const isTooLong = (error: unknown) => (error as NodeJS.ErrnoException).code === 'ENAMETOOLONG';

/** What has gone in the meantime, as files and processes do, does not count. */
const isGone = (error: unknown) => GONE.has((error as NodeJS.ErrnoException).code ?? '');
