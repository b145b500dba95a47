import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it, onTestFinished } from 'vitest';
import { until } from '../testing/scratch.js';
import { limitsOf, makeControlGroup, removeControlGroup, within } from './cgroup.js';

const NAME = `orrery-test-${process.pid}`;
const LIMITS = { cpus: 0.5, memory_bytes: 64 * 2 ** 20 };

it('runs a command within its limits, or without any where there are no control groups', async () => {
  onTestFinished(() => removeControlGroup(NAME));
  const group = makeControlGroup(NAME, LIMITS);
  const [command, ...args] = within(group, ['sleep', 'infinity']);
  const child = spawn(command!, args, { stdio: 'ignore' });
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await once(child, 'exit');
  });
  const isSleeping = () =>
    execFileSync('ps', ['-o', 'comm=', '-p', String(child.pid)])
      .toString()
      .trim() === 'sleep';
  await until('it has replaced the shell', isSleeping);
  expect(limitsOf(child.pid!, NAME, LIMITS)).toEqual(group.folders.length > 0 ? LIMITS : {});
  expect(limitsOf(process.pid, NAME, LIMITS)).toEqual({});
});

it('passes words on as they are', () => {
  const [command, ...args] = within({ folders: [] }, ['printf', '%s|', 'a b', '--', "c'd"]);
  expect(execFileSync(command!, args).toString()).toBe("a b|--|c'd|");
});
