import { execFile, execFileSync } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** rm(1) also removes folders in folders beyond the longest path that the kernel accepts (PATH_MAX). */
const removal = (path: string) => ['rm', ['-rf', '--one-file-system', '--', path]] as const;

/** Removes whatever is at a path, with all that is below it. Links are not followed. */
export async function removeTree(path: string): Promise<void> {
  await run(...removal(path));
}

/** Removes what is in a folder, which stays: it may be mounted elsewhere. */
export async function emptyFolder(path: string): Promise<void> {
  await run('find', [path, '-xdev', '-mindepth', '1', '-delete']);
}

/** As `removeTree`, before it returns: for tests, since it takes as long as there are files. */
export function removeTreeNow(path: string): void {
  execFileSync(...removal(path), { stdio: 'ignore' });
}
