import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { until } from '../testing/scratch.js';
import { endMembers, groupOf, limitsOf, makeControlGroup, membersOf, removeControlGroup, within } from './cgroup.js';

const NAME = `orrery-test-${process.pid}`;
const LIMITS = { cpus: 0.5, memory_bytes: 64 * 2 ** 20, processes: 20 };

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
  expect([...groupOf(child.pid!).folders].sort()).toEqual([...group.folders].sort());
});

/** Ends by itself where nothing else does, after more time than it has to fill its group. */
const FORK_BOMB = `
import os, time
until = time.monotonic() + 60
while time.monotonic() < until:
    try:
        os.fork()
    except OSError:
        time.sleep(0.001)
`;

it('bounds what starts processes without end, and ends all of it', { timeout: 120_000 }, async ({ skip }) => {
  const name = `${NAME}-forks`;
  onTestFinished(() => removeControlGroup(name));
  const group = makeControlGroup(name, LIMITS);
  const counting = group.folders.find((folder) => existsSync(join(folder, 'pids.max')));
  if (!counting) return skip('no group counts processes');
  const [command, ...args] = within(group, ['/usr/bin/python3', '-c', FORK_BOMB]);
  const child = spawn(command!, args, { stdio: 'ignore' });
  const exit = once(child, 'exit');
  onTestFinished(() => endMembers(name));
  await until('there are as many as there may be', () => membersOf(name).length === LIMITS.processes, 30_000);
  endMembers(name);
  await until('all have ended', () => membersOf(name).length === 0);
  await exit;
  // What has ended counts until the first process of the machine, or of its container, has asked how.
  const counted = () => Number(readFileSync(join(counting, 'pids.current'), 'utf8'));
  const reaped = await until('they are reaped', () => counted() === 0).catch(() => false);
  if (!reaped) return skip('processes that have ended stay as zombies on this machine');
  makeControlGroup(name, LIMITS);
  const [again, ...words] = within(group, ['sh', '-c', 'echo $(echo forked)']);
  expect(spawnSync(again!, words).stdout.toString()).toBe('forked\n');
});

it('passes words on as they are', () => {
  const [command, ...args] = within({ folders: [] }, ['printf', '%s|', 'a b', '--', "c'd"]);
  expect(execFileSync(command!, args).toString()).toBe("a b|--|c'd|");
});
