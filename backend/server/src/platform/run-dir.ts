import { lstat, mkdir } from 'node:fs/promises';
import { ConfigError } from './config.js';

/**
 * Creates the directory of the sockets. Throws ConfigError if another user could access it: its default is in /tmp, where
 * anybody could create it first.
 */
export async function claimRunDir(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  const found = await lstat(path);
  const refuse = (why: string) => {
    throw new ConfigError(`ORRERY_RUN_DIR: ${path} ${why}; remove it or choose another`);
  };
  if (!found.isDirectory()) refuse('is not a directory');
  if (found.uid !== process.getuid!()) refuse(`belongs to another user (${found.uid})`);
  const mode = found.mode & 0o777;
  if (mode !== 0o700) refuse(`has mode 0${mode.toString(8)} but must have 0700 (owner only)`);
}
