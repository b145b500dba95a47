import { lstatSync, opendirSync } from 'node:fs';
import { join } from 'node:path';
import { fillPlaceholders, type LegacyProgram } from '@orrery/contract';
import { writeDurably } from '../../platform/durable-file.js';
import { removeTree } from '../../platform/remove-tree.js';

const MOST_NAMES = 1000;

/** A program with its placeholders filled in. */
export interface FilledProgram {
  setup: string[][];
  command: string[] | null;
  report: string[] | null;
  files: { name: string; content: string }[];
}

/**
 * `directory`: the instance's own folder; `installed`: the folder of an NF that came with the agent; both as commands see
 * them.
 */
export function fill(
  { setup, command, report, files }: LegacyProgram,
  config: Readonly<Record<string, unknown>>,
  directory: string,
  installed: string | null,
): FilledProgram {
  const fixed = { near: 'near', far: 'far', dir: directory, ...(installed ? { nf_dir: installed } : {}) };
  const values = { ...config, ...fixed };
  const words = (all: readonly string[]) =>
    all.map((word) => fillPlaceholders(word, values)).filter((word) => word !== '');
  return {
    setup: setup.map(words),
    command: command ? words(command) : null,
    report: report ? words(report) : null,
    files: files.map(({ name, content }) => ({ name, content: fillPlaceholders(content, values) })),
  };
}

/**
 * Writes its files, in place of whatever a program has left under their names; config.json has the whole configuration.
 */
export async function layOut(
  { files }: FilledProgram,
  config: Readonly<Record<string, unknown>>,
  directory: string,
): Promise<void> {
  if (!isFolder(directory)) await removeTree(directory);
  for (const { name, content } of [{ name: 'config.json', content: `${JSON.stringify(config)}\n` }, ...files]) {
    const path = join(directory, name);
    for (const place of [path, `${path}.new`]) if (isFolder(place)) await removeTree(place);
    writeDurably(path, content);
  }
}

/** What a program has in its folder, largest first; of very many files, some. */
export function listFiles(directory: string, most: number): { name: string; bytes: number }[] {
  try {
    return namesIn(directory)
      .flatMap((name) => {
        // A link would lead the agent where its program cannot go.
        const found = lstatSync(join(directory, name), { throwIfNoEntry: false });
        return found?.isFile() ? [{ name, bytes: found.size }] : [];
      })
      .sort((a, b) => b.bytes - a.bytes)
      .slice(0, most);
  } catch {
    return [];
  }
}

function namesIn(directory: string): string[] {
  const folder = opendirSync(directory);
  try {
    const names: string[] = [];
    for (let entry = folder.readSync(); entry && names.length < MOST_NAMES; entry = folder.readSync())
      names.push(entry.name);
    return names;
  } finally {
    folder.closeSync();
  }
}

const isFolder = (path: string) => lstatSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
