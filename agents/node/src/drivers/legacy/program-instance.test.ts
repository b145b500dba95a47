import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { DetachedProcess } from '../../platform/detached-process.js';
import { endAfterTest, scratchDirectory, until } from '../../testing/scratch.js';
import { DiskWatch } from './disk-watch.js';
import { ProgramInstance } from './program-instance.js';

const LIMIT_BYTES = 2 ** 20;

async function setUp(explain?: (how: string) => Promise<string>) {
  const folder = scratchDirectory();
  const files = { pid_file: join(scratchDirectory(), 'it.pid'), log_file: join(scratchDirectory(), 'it.log') };
  const program = await DetachedProcess.start({ command: 'sleep', args: ['600'], ...files });
  endAfterTest(() => program.pid);
  const holder = { pid: 1, ended: new Promise<string>(() => undefined), release: () => undefined };
  let killed = 0;
  const disk = new DiskWatch({ folder, limit_bytes: LIMIT_BYTES, members: () => [program.pid] }, 5);
  const timing = { period_ms: 1000, silent_ms: 30_000, dead_ms: 60_000 };
  const observation = { timing, disk, ...(explain && { explain }) };
  const running = new ProgramInstance('p.x.0', { holder, killMembers: () => killed++ }, program, observation);
  const over = new Promise<boolean>((resolve) => {
    const none = () => undefined;
    running.watch({ silent: none, back: none, over: () => resolve(running.isOver) });
  });
  return { folder, running, program, over, killed: () => killed };
}

it('ends a program that has as much on disk as it may have, with all that it started, and says so', async () => {
  const { folder, running, program, killed } = await setUp();
  writeFileSync(join(folder, 'some'), Buffer.alloc(LIMIT_BYTES / 2, 1));
  await until('it is measured', () => (running.disk_bytes ?? 0) >= LIMIT_BYTES / 2);
  expect(program.alive).toBe(true);
  writeFileSync(join(folder, 'more'), Buffer.alloc(LIMIT_BYTES / 2, 1));
  expect((await running.ended).how).toMatch(/^its files took 1 MiB/);
  expect([program.alive, killed()]).toEqual([false, 1]);
});

it('tells that its program is over before it is known how it ended', async () => {
  let say: (how: string) => void = () => undefined;
  const said = new Promise<string>((resolve) => {
    say = resolve;
  });
  const { running, program, over } = await setUp(() => said);
  program.kill();
  expect(await over, 'it counts as over when that is told').toBe(true);
  say('exit code 3');
  expect(await running.ended).toEqual({ how: 'exit code 3' });
});
