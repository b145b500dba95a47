import { lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fillPlaceholders, type LegacyProgram } from '@orrery/contract';
import { writeDurably } from '../../platform/durable-file.js';

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

/** Writes its files; config.json has the whole configuration. */
export function layOut({ files }: FilledProgram, config: Readonly<Record<string, unknown>>, directory: string): void {
  writeDurably(join(directory, 'config.json'), `${JSON.stringify(config)}\n`);
  for (const { name, content } of files) writeDurably(join(directory, name), content);
}

/** What a program has in its folder, largest first. */
export function listFiles(directory: string, most: number): { name: string; bytes: number }[] {
  try {
    return readdirSync(directory)
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
