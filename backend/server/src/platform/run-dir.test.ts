import { chmodSync, chownSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { claimRunDir } from './run-dir.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync('/tmp/orrery-d-');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('the directory of the sockets', () => {
  it('is created for its owner only, and reused', async () => {
    const path = join(folder, 'a/b');
    await claimRunDir(path);
    await claimRunDir(path);
    expect(statSync(path).mode & 0o777).toBe(0o700);
  });

  it('is refused if others have access', async () => {
    chmodSync(folder, 0o770);
    await expect(claimRunDir(folder)).rejects.toThrow(/ORRERY_RUN_DIR: .* has mode 0770/);
  });

  it('is refused if it is a link or a file', async () => {
    symlinkSync(folder, `${folder}/link`);
    await expect(claimRunDir(`${folder}/link`)).rejects.toThrow('is not a directory');
    writeFileSync(`${folder}/file`, '');
    await expect(claimRunDir(`${folder}/file`)).rejects.toThrow('is not a directory');
  });

  it.runIf(process.getuid!() === 0)('is refused if another user created it', async () => {
    chownSync(folder, 65534, 65534);
    await expect(claimRunDir(folder)).rejects.toThrow('belongs to another user (65534)');
  });
});
