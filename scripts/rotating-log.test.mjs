import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';
import { test } from 'node:test';
import { rotatingLog } from './rotating-log.mjs';
import { LOG_DIR } from './setup/paths.mjs';

async function write(file, lines, limitBytes) {
  const log = rotatingLog(file, { limitBytes });
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

test('on a full disk a log goes on, says so once, and resumes with a note of the gap', () => {
  const folder = mkdtempSync(join(tmpdir(), 'orrery-full-'));
  const program = `
    import { readFileSync, rmSync, writeFileSync } from 'node:fs';
    import { rotatingLog } from ${JSON.stringify(import.meta.resolve('./rotating-log.mjs'))};
    const told = [];
    const log = rotatingLog('server.log', { limitBytes: 100_000, tell: (text) => told.push(text) });
    const say = (text) => new Promise((resolve, reject) => {
      log.once('error', reject);
      log.write(text, resolve);
    });
    await say('before\\n');
    try {
      for (;;) writeFileSync('filler', Buffer.alloc(4096), { flag: 'a' });
    } catch {}
    for (let i = 0; i < 3; i++) await say('x'.repeat(50_000) + '\\n');
    rmSync('filler');
    await say('after\\n');
    console.log(JSON.stringify({ told, text: readFileSync('server.log', 'utf8') }));`;
  const script = 'mount -t tmpfs -o size=256k none "$1" && cd "$1" && exec "$2" --input-type=module -e "$3"';
  const unshare = process.getuid() === 0 ? '-m' : '-rm';
  const { stdout, stderr } = spawnSync(
    'unshare',
    [unshare, 'sh', '-ec', script, 'sh', folder, process.execPath, program],
    {
      encoding: 'utf8',
    },
  );
  rmSync(folder, { recursive: true });
  assert.equal(stderr, '');
  const { told, text } = JSON.parse(stdout);
  assert.equal(told.length, 1);
  assert.match(told[0], /server\.log cannot be written: ENOSPC/);
  assert.match(text, /^before\nx*\n?\[\d+ bytes are missing here: they could not be written\]\nafter\n$/);
  const missing = Number(/\[(\d+) bytes/.exec(text)[1]);
  assert.equal(missing + text.replace(/\n\[.*\]\n/, '').length, 'before\nafter\n'.length + 3 * 50_001);
});

test('a set-up command runs to its end although its log cannot be written', () => {
  mkdirSync(LOG_DIR, { recursive: true });
  const name = `full-${process.pid}`;
  symlinkSync('/dev/full', join(LOG_DIR, `${name}.log`));
  const program = `
    import { run } from ${JSON.stringify(import.meta.resolve('./setup/command.mjs'))};
    console.log(JSON.stringify(await run('${name}', 'sh', ['-c', 'echo one; echo two'])));`;
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    encoding: 'utf8',
  });
  rmSync(join(LOG_DIR, `${name}.log`));
  assert.deepEqual([stdout, status], ['"one\\ntwo\\n"\n', 0], stderr);
  assert.match(stderr, /^.*full-\d+\.log cannot be written: ENOSPC.*\n$/);
});
