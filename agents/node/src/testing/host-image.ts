import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { DockerClient } from '../drivers/container/docker-client.js';
import { scratchDirectory } from './scratch.js';

/** An image of programs of this machine with their libraries: no registry is asked, and nothing is compiled. */
export async function hostImage(
  docker: DockerClient,
  reference: string,
  programs: readonly string[],
  changes: readonly string[] = [],
): Promise<void> {
  const [repo, tag] = reference.split(':');
  await docker.importImage(repo!, tag!, hostTar(programs), [...changes]);
}

/** A root file system with these programs, as a tar file. */
export function hostTar(programs: readonly string[]): string {
  const root = join(scratchDirectory(), 'root');
  for (const folder of ['bin', 'tmp', 'run', 'instance', 'etc']) mkdirSync(join(root, folder), { recursive: true });
  for (const program of programs) {
    const path = execFileSync('/usr/bin/which', [program]).toString().trim();
    cpSync(realpathSync(path), join(root, 'bin', program));
    for (const library of librariesOf(path)) {
      mkdirSync(dirname(join(root, library)), { recursive: true });
      cpSync(realpathSync(library), join(root, library));
    }
  }
  const file = `${root}.tar`;
  execFileSync('/usr/bin/tar', ['-C', root, '-cf', file, '.']);
  return file;
}

function librariesOf(path: string): string[] {
  const told = execFileSync('/usr/bin/ldd', [path]).toString();
  return [...told.matchAll(/(\/\S+) \(0x/g)].map(([, library]) => library!);
}
