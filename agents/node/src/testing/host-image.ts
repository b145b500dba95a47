import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { DockerClient } from '../drivers/container/docker-client.js';
import { loadContainerNfs } from '../drivers/legacy/registry.js';
import { PACKAGE_ROOT } from '../package-root.js';
import { scratchDirectory } from './scratch.js';

/** The image of an NF that came with the agent, as its Dockerfile describes it, but of programs of this machine. */
export async function shippedImage(docker: DockerClient, nf: string, programs: readonly string[]): Promise<string> {
  const folder = join(PACKAGE_ROOT, 'container-nfs', nf);
  const dockerfile = readFileSync(join(folder, 'Dockerfile'), 'utf8');
  const changes = dockerfile.split('\n').filter((line) => /^(HEALTHCHECK|ENTRYPOINT) /.test(line));
  const files = [...dockerfile.matchAll(/^COPY (\S+) (\S+)$/gm)].map(
    ([, from, to]) => [join(PACKAGE_ROOT, from!), to!] as const,
  );
  const { reference } = loadContainerNfs().find((it) => it.nf === nf)!.image;
  const [repo, tag] = reference.split(':');
  await docker.importImage(repo!, tag!, hostTar(programs, files), changes);
  return reference;
}

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
export function hostTar(programs: readonly string[], files: readonly (readonly [string, string])[] = []): string {
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
  for (const [from, to] of files) {
    mkdirSync(dirname(join(root, to)), { recursive: true });
    cpSync(from, join(root, to));
  }
  const file = `${root}.tar`;
  execFileSync('/usr/bin/tar', ['-C', root, '-cf', file, '.']);
  return file;
}

function librariesOf(path: string): string[] {
  const told = execFileSync('/usr/bin/ldd', [path]).toString();
  return [...told.matchAll(/(\/\S+) \(0x/g)].map(([, library]) => library!);
}
