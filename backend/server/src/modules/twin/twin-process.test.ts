import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { TwinProcess } from './twin-process.js';

let runDir: string;
let parent: ChildProcess | null = null;
beforeEach(() => {
  runDir = mkdtempSync('/tmp/orrery-p-');
});
afterEach(() => {
  parent?.kill('SIGKILL');
  rmSync(runDir, { recursive: true, force: true });
});

it('ends an adopted launcher that nobody waits for', async () => {
  // The shell becomes `tail`, which never takes its dead child away.
  const script = `${process.execPath} -e 'setInterval(() => 0, 1e6)' "$0" & echo $!; exec tail -f /dev/null`;
  parent = spawn('/bin/sh', ['-c', script, runDir], { stdio: ['ignore', 'pipe', 'ignore'] });
  const [pid] = await once(parent.stdout!, 'data');
  writeFileSync(join(runDir, 'twin.pid'), String(pid).trim());
  const twin = new TwinProcess({ launcher: '/bin/false', runDir, stateDir: join(runDir, 'state') });
  expect(await twin.ensure(async () => true, new AbortController().signal)).toBe(false);
  await twin.stop();
  expect(existsSync(join(runDir, 'twin.pid'))).toBe(false);
}, 10_000);
