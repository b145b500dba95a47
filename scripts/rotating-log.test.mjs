import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';
import { test } from 'node:test';
import { rotatingLog } from './rotating-log.mjs';

async function write(file, lines, limitBytes) {
  const log = rotatingLog(file, limitBytes);
  for (const line of lines) log.write(`${line}\n`);
  log.end();
  await finished(log);
}

test('a log is bounded by size and by starts, and the newest lines are never lost', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'orrery-log-'));
  const file = join(folder, 'server.log');
  const all = () =>
    readdirSync(folder)
      .sort()
      .reverse()
      .map((name) => readFileSync(join(folder, name), 'utf8'))
      .join('');
  try {
    await write(file, ['first start'], 100);
    await write(file, ['second start'], 100);
    assert.equal(all(), 'first start\nsecond start\n');

    const lines = Array.from({ length: 100 }, (_, index) => `line ${index}`);
    await write(file, lines, 100);
    assert.deepEqual(readdirSync(folder).sort(), ['server.log', 'server.log.1', 'server.log.2', 'server.log.3']);
    for (const name of readdirSync(folder)) assert.ok(statSync(join(folder, name)).size <= 100, name);
    assert.ok(lines.join('\n').concat('\n').endsWith(all()));
    assert.ok(all().length > 300);

    await write(file, ['x'.repeat(200), 'after it'], 100);
    assert.equal(readFileSync(file, 'utf8'), 'after it\n');
    assert.equal(statSync(file).mode & 0o777, 0o600);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
