import { spawn } from 'node:child_process';
import { linkSync, mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { endAfterTest, nestDeeply, scratchDirectory, until } from '../../testing/scratch.js';
import * as use from './disk-use.js';

const KIB = 1024;

const diskUse = async (...of: Parameters<typeof use.diskUse>) => (await use.diskUse(...of)).bytes;
const deletedUse = async (...of: Parameters<typeof use.deletedUse>) => (await use.deletedUse(...of)).bytes;

it('counts what files take on disk, each once, wherever they are below a folder', async () => {
  const folder = scratchDirectory();
  expect(await diskUse(folder)).toBe(0);
  mkdirSync(join(folder, 'a/b'), { recursive: true });
  writeFileSync(join(folder, 'a/b/large'), Buffer.alloc(100 * KIB, 1));
  const one = await diskUse(folder);
  expect(one).toBeGreaterThanOrEqual(100 * KIB);
  expect(one).toBeLessThan(150 * KIB);
  // Another name, a hole, and what a link leads to are none of it but as entries.
  linkSync(join(folder, 'a/b/large'), join(folder, 'again'));
  writeFileSync(join(folder, 'hole'), '');
  truncateSync(join(folder, 'hole'), 2 ** 30);
  symlinkSync('/usr', join(folder, 'link'));
  expect(await diskUse(folder)).toBe(one + 8 * KIB);
});

it('counts empty files, and names that are no text', async () => {
  const folder = scratchDirectory();
  for (let i = 0; i < 100; i++)
    writeFileSync(Buffer.concat([Buffer.from(`${folder}/${i}`), Buffer.from([0xff, 0xfe])]), '');
  expect(await diskUse(folder)).toBe(400 * KIB);
  expect(await diskUse(folder, 40 * KIB)).toBe(40 * KIB);
});

it('takes what no path reaches for more than any limit, and what is not there for nothing', async () => {
  const folder = scratchDirectory();
  nestDeeply(folder);
  expect(await diskUse(folder)).toBe(Number.POSITIVE_INFINITY);
  expect(await diskUse(join(folder, 'none'))).toBe(0);
  expect(await deletedUse(join(folder, 'none'), [process.pid])).toBe(0);
});

it('finds what processes have deleted and still write to', async () => {
  const folder = scratchDirectory();
  const script = 'exec 3>gone 4>kept; dd if=/dev/zero bs=1024 count=100 >&3; rm gone; ln -s x "4 (deleted)"; sleep 60';
  const child = spawn('sh', ['-c', script], { cwd: folder, stdio: 'ignore' });
  endAfterTest(() => child.pid);
  const found = () => deletedUse(folder, [child.pid!, child.pid!, 2 ** 30]);
  await until('it is deleted', async () => (await found()) >= 100 * KIB);
  expect(await found()).toBeLessThan(150 * KIB);
  expect(await deletedUse('/proc', [child.pid!])).toBe(0);
});

/** Opens a file where no path reaches, writes 100 KiB to it and deletes it. */
const DEEP = `
import os, sys, time
os.chdir(sys.argv[1])
for _ in range(30):
    os.mkdir('d' * 200)
    os.chdir('d' * 200)
f = open('gone', 'wb', buffering=0)
f.write(b'x' * 102400)
os.remove('gone')
time.sleep(60)
`;

it('finds what was deleted where no path reaches', async () => {
  const folder = scratchDirectory();
  const child = spawn('/usr/bin/python3', ['-c', DEEP, folder], { stdio: 'ignore' });
  endAfterTest(() => child.pid);
  await until('it is deleted', async () => (await deletedUse(folder, [child.pid!])) >= 100 * KIB);
});
