import { readdirSync, readFileSync } from 'node:fs';
import { type ContainerImage, type LegacyProgram, NfDescriptor } from '@orrery/contract';
import { PACKAGE_ROOT } from '../../package-root.js';
import { firstIssue } from '../../platform/first-issue.js';

/** A legacy NF that came with the agent: a folder of `process-nfs/` with a descriptor that says what to run. */
export interface InstalledNf {
  nf: string;
  program: LegacyProgram;
  directory: string;
}

const FOLDER = `${PACKAGE_ROOT}process-nfs`;

/** An NF of an image that came with the agent: a folder of `container-nfs/`. */
export interface ShippedImage {
  nf: string;
  image: ContainerImage;
}

const IMAGES_FOLDER = `${PACKAGE_ROOT}container-nfs`;

/** The NFs of images that came with the agent. Throws if one is invalid: the installation is broken. */
export function loadContainerNfs(folder = IMAGES_FOLDER): ShippedImage[] {
  return foldersIn(folder).map((directory) => {
    const { file, descriptor } = read(directory);
    const image = descriptor.implementations.find(({ driver }) => driver === 'container')?.image;
    if (!image) throw new Error(`${file}: /implementations: none has an image`);
    return { nf: descriptor.id, image };
  });
}

/** The legacy NFs installed with the agent. Throws if one is invalid: the installation is broken. */
export function loadProcessNfs(folder = FOLDER): InstalledNf[] {
  return foldersIn(folder).map((directory) => {
    const { file, descriptor } = read(directory);
    const program = descriptor.implementations.find(({ driver }) => driver === 'process')?.program;
    if (!program) throw new Error(`${file}: /implementations: none says what program to run`);
    return { nf: descriptor.id, program, directory };
  });
}

function foldersIn(folder: string): string[] {
  const entries = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return entries.map(({ name }) => `${folder}/${name}`);
}

function read(directory: string): { file: string; descriptor: NfDescriptor } {
  const file = `${directory}/descriptor.json`;
  const parsed = NfDescriptor.safeParse(JSON.parse(readFileSync(file, 'utf8')));
  if (!parsed.success) throw new Error(`${file}: ${firstIssue(parsed.error)}`);
  return { file, descriptor: parsed.data };
}
