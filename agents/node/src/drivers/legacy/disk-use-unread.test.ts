import { writeFileSync } from 'node:fs';
import * as files from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';
import { scratchDirectory, until } from '../../testing/scratch.js';
import { deletedUse, diskUse } from './disk-use.js';
import { DiskWatch } from './disk-watch.js';

vi.mock('node:fs/promises', async (original) => {
  const real = await original<typeof files>();
  return {
    ...real,
    ...Object.fromEntries(
      (['lstat', 'opendir', 'readdir', 'stat'] as const).map((name) => [name, vi.fn(real[name] as never)]),
    ),
  };
});

const failed = (code: string) => Object.assign(new Error(`${code}: refused`), { code });

function folderWith(bytes: number): string {
  const folder = scratchDirectory();
  writeFileSync(join(folder, 'some'), Buffer.alloc(bytes, 1));
  return folder;
}

afterEach(() => vi.clearAllMocks());

it.each(['EACCES', 'EMFILE'])('does not take what it may not read for nothing: %s', async (code) => {
  const folder = folderWith(8192);
  const unread = `${code}: refused`;
  vi.mocked(files.opendir).mockRejectedValueOnce(failed(code));
  expect(await diskUse(folder)).toEqual({ bytes: 0, unread });
  vi.mocked(files.lstat).mockRejectedValueOnce(failed(code));
  expect(await diskUse(folder)).toEqual({ bytes: 0, unread });
  expect(await diskUse(folder)).toEqual({ bytes: 8192, unread: null });
  vi.mocked(files.readdir).mockRejectedValueOnce(failed(code));
  expect(await deletedUse(folder, [process.pid])).toEqual({ bytes: 0, unread });
  vi.mocked(files.stat).mockRejectedValueOnce(failed(code));
  expect(await deletedUse(folder, [])).toEqual({ bytes: 0, unread });
});

it('takes what has gone meanwhile for nothing', async () => {
  vi.mocked(files.lstat).mockRejectedValueOnce(failed('ENOENT'));
  expect(await diskUse(folderWith(1))).toEqual({ bytes: 0, unread: null });
});

it('tells that what a program has on disk is not known, until it is again', async () => {
  const folder = folderWith(8192);
  let isRefused = true;
  const { opendir } = await vi.importActual<typeof files>('node:fs/promises');
  vi.mocked(files.opendir).mockImplementation((...of) =>
    isRefused ? Promise.reject(failed('EMFILE')) : opendir(...(of as Parameters<typeof opendir>)),
  );
  const watch = new DiskWatch({ folder, limit_bytes: 1e6, members: () => [] }, 5);
  const excess = vi.fn();
  watch.start(excess);
  await until('it looks', () => watch.unread);
  expect([watch.used_bytes, watch.unread]).toEqual([null, 'EMFILE: refused']);
  isRefused = false;
  await until('it is known', () => watch.used_bytes);
  expect([watch.used_bytes, watch.unread]).toEqual([8192, null]);
  watch.stop();
  expect(excess).not.toHaveBeenCalled();
});
