import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { scratchDirectory } from '../testing/scratch.js';
import { writeDurably } from './durable-file.js';

it('never writes through a planted link', () => {
  const directory = scratchDirectory();
  const victim = join(directory, 'victim');
  writeFileSync(victim, 'its own');
  const folder = join(directory, 'folder');
  mkdirSync(folder);
  for (const name of ['a', 'a.new']) symlinkSync(victim, join(folder, name));
  writeDurably(join(folder, 'a'), 'new');
  expect(readFileSync(victim, 'utf8')).toBe('its own');
  expect(readFileSync(join(folder, 'a'), 'utf8')).toBe('new');
  expect(readdirSync(folder)).toEqual(['a']);
});

it('replaces a file that an earlier agent left half written', () => {
  const path = join(scratchDirectory(), 'a');
  writeFileSync(`${path}.new`, 'half');
  writeDurably(path, 'whole');
  expect(readFileSync(path, 'utf8')).toBe('whole');
});
