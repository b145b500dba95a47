import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it, onTestFinished } from 'vitest';
import { cpuOfSessions } from './session-cpu.js';

it('adds up what a program and its children use, also children that have ended', async () => {
  const burn = 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done';
  const child = spawn('/bin/sh', ['-c', `(${burn}); echo over; read wait`], { detached: true });
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  const used = cpuOfSessions().get(child.pid!);
  expect(used).toBeGreaterThan(20e6);
  expect(used).toBeLessThan(60e9);
});

it('knows nothing of a session that is over', async () => {
  const child = spawn('/bin/true', { detached: true });
  await once(child, 'close');
  expect(cpuOfSessions().has(child.pid!)).toBe(false);
});
