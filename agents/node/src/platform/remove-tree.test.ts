import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { nestDeeply, scratchDirectory } from '../testing/scratch.js';
import { emptyFolder, removeTree, removeTreeNow } from './remove-tree.js';

it.each([
  ['at once', removeTreeNow],
  ['beside other work', removeTree],
])('removes %s what no path reaches, and leaves what links lead to', async (_, remove) => {
  const scratch = scratchDirectory();
  const victim = join(scratch, 'victim');
  writeFileSync(victim, 'its own');
  const tree = join(scratch, '-rf');
  mkdirSync(tree);
  symlinkSync(victim, join(tree, 'link'));
  nestDeeply(tree);
  await remove(tree);
  expect(readdirSync(scratch)).toEqual(['victim']);
  await remove(join(scratch, 'not there'));
});

it('empties a folder, which stays the same', async () => {
  const folder = join(scratchDirectory(), '-x');
  mkdirSync(folder);
  nestDeeply(folder);
  execFileSync('mkfifo', [join(folder, 'fifo')]);
  const { ino } = statSync(folder);
  await emptyFolder(folder);
  expect([readdirSync(folder), statSync(folder).ino]).toEqual([[], ino]);
  expect(existsSync(folder)).toBe(true);
});
