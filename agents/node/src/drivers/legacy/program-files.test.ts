import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { nestDeeply, scratchDirectory } from '../../testing/scratch.js';
import { layOut, listFiles } from './program-files.js';

const filled = { setup: [], command: null, report: null, files: [{ name: 'rules', content: 'new\n' }] };

/** What a program may leave at a path. */
const LEFT: Record<string, (path: string) => void> = {
  'a folder': (path) => {
    mkdirSync(path);
    nestDeeply(path);
    chmodSync(path, 0);
  },
  'a link to a folder': (path) => symlinkSync('/usr', path),
  'a link to nowhere': (path) => symlinkSync('/nowhere/x', path),
  'a FIFO': (path) => void execFileSync('mkfifo', [path]),
  'a file that nobody may write': (path) => writeFileSync(path, 'old', { mode: 0o400 }),
};

it.each(Object.keys(LEFT))('writes its files in place of %s', async (what) => {
  const directory = join(scratchDirectory(), 'program');
  mkdirSync(directory);
  for (const name of ['config.json', 'config.json.new', 'rules', 'rules.new']) LEFT[what]!(join(directory, name));
  writeFileSync(join(directory, 'capture'), 'kept');
  await layOut(filled, { port: 1 }, directory);
  expect(readdirSync(directory).sort()).toEqual(['capture', 'config.json', 'rules']);
  expect(readFileSync(join(directory, 'config.json'), 'utf8')).toBe('{"port":1}\n');
  expect(readFileSync(join(directory, 'rules'), 'utf8')).toBe('new\n');
});

it.each(Object.keys(LEFT).slice(1))('makes its folder in place of %s', async (what) => {
  const directory = join(scratchDirectory(), 'program');
  LEFT[what]!(directory);
  await layOut(filled, {}, directory);
  expect(readdirSync(directory).sort()).toEqual(['config.json', 'rules']);
});

it('lists some of very many files', () => {
  const directory = scratchDirectory();
  for (let i = 0; i < 1500; i++) writeFileSync(join(directory, String(i)), 'x'.repeat(i % 10));
  expect(listFiles(directory, 20).map(({ bytes }) => bytes)).toEqual(Array.from({ length: 20 }, () => 9));
});
