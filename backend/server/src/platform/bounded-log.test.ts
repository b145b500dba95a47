import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { BoundedLog } from './bounded-log.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync('/tmp/orrery-l-');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('the log of another process', () => {
  it('is truncated when it is too long, and continues from the start of the file', async () => {
    const log = new BoundedLog(join(folder, 'log'), 10);
    const handle = await log.begin();
    await handle.write('0123456789');
    await log.bound();
    expect(statSync(log.path).size).toBe(10);
    await handle.write('more');
    await log.bound();
    await handle.write('last');
    await handle.close();
    expect(readFileSync(log.path, 'utf8')).toBe('last');
    expect(readFileSync(`${log.path}.1`, 'utf8')).toBe('0123456789more');
  });

  it('is kept as one old copy when a new log begins', async () => {
    const log = new BoundedLog(join(folder, 'log'));
    for (const word of ['one', 'two', 'three']) {
      const handle = await log.begin();
      await handle.write(word);
      await handle.close();
    }
    expect([readFileSync(log.path, 'utf8'), readFileSync(`${log.path}.1`, 'utf8')]).toEqual(['three', 'two']);
  });
});
