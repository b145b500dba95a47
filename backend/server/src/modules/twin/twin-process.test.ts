import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { until } from '../../testing/wait.js';
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

it('ends an adopted launcher whose parent does not reap it', async () => {
  // The shell becomes `tail`, which never reaps its dead child.
  const script = `${process.execPath} -e 'setInterval(() => 0, 1e6)' -- --run-dir "$0" & echo $!; exec tail -f /dev/null`;
  parent = spawn('/bin/sh', ['-c', script, runDir], { stdio: ['ignore', 'pipe', 'ignore'] });
  const [pid] = await once(parent.stdout!, 'data');
  writeFileSync(join(runDir, 'twin.pid'), String(pid).trim());
  const twin = new TwinProcess({ launcher: '/bin/false', runDir, stateDir: join(runDir, 'state') });
  expect(await twin.ensure(async () => true, new AbortController().signal)).toBe(false);
  await twin.stop();
  expect(existsSync(join(runDir, 'twin.pid'))).toBe(false);
}, 10_000);

it('bounds the log of a verbose launcher', async () => {
  const launcher = join(runDir, 'launcher');
  writeFileSync(launcher, '#!/bin/sh\nhead -c 3000000 /dev/zero\nexec tail -f /dev/null\n');
  chmodSync(launcher, 0o755);
  const stateDir = join(runDir, 'state');
  const log = join(stateDir, 'twin.log');
  const twin = new TwinProcess({ launcher, runDir, stateDir });
  const said = async () => existsSync(log) && statSync(log).size === 3_000_000;
  expect(await twin.ensure(said, new AbortController().signal)).toBe(true);
  await until('a short log', () => statSync(log).size === 0 && existsSync(`${log}.1`));
  await twin.stop();
}, 20_000);
