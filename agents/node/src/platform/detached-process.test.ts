import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { endAfterTest, scratchDirectory, until } from '../testing/scratch.js';
import { DetachedProcess } from './detached-process.js';
import { identify, isAlive, signalProcess } from './process-identity.js';
import { boundLog } from './rotating-log.js';

function filesIn(directory: string) {
  return { pid_file: join(directory, 'it.pid'), log_file: join(directory, 'it.log') };
}

async function startSleeper(directory: string): Promise<DetachedProcess> {
  const started = await DetachedProcess.start({ command: 'sleep', args: ['60'], ...filesIn(directory) });
  endAfterTest(() => started.pid);
  return started;
}

describe('DetachedProcess', () => {
  it('starts in its own session and records its identity', async () => {
    const directory = scratchDirectory();
    const started = await startSleeper(directory);
    const session = readFileSync(`/proc/${started.pid}/stat`, 'utf8').split(') ')[1]!.split(' ')[3];
    expect(session).toBe(String(started.pid));
    expect(JSON.parse(readFileSync(filesIn(directory).pid_file, 'utf8'))).toEqual(identify(started.pid));
    expect(statSync(filesIn(directory).pid_file).mode & 0o777).toBe(0o600);
  });

  it('is adopted by identity and its end is noticed', async () => {
    const directory = scratchDirectory();
    const started = await startSleeper(directory);
    const adopted = DetachedProcess.adopt(filesIn(directory));
    expect(adopted?.pid).toBe(started.pid);
    started.kill();
    expect(await started.ended).toBe('signal SIGKILL');
    await adopted!.ended;
    expect(existsSync(filesIn(directory).pid_file)).toBe(false);
  });

  it('adopts no other process that has reused the PID', () => {
    const directory = scratchDirectory();
    const files = filesIn(directory);
    const self = identify(process.pid)!;
    writeFileSync(files.pid_file, JSON.stringify({ ...self, start_ticks: '1' }));
    expect(DetachedProcess.adopt(files)).toBeNull();
    expect(existsSync(files.pid_file)).toBe(false);
    expect(signalProcess({ ...self, start_ticks: '1' }, 'SIGKILL')).toBe(false);
    expect(isAlive({ ...self, boot_id: 'another' })).toBe(false);
  });

  it.each(['', '{', '{"pid":0}', '{"pid":"1"}'])('ignores the PID file %j', (content) => {
    const files = filesIn(scratchDirectory());
    writeFileSync(files.pid_file, content);
    expect(DetachedProcess.adopt(files)).toBeNull();
  });

  it('reports the exit code, or which program cannot be run', async () => {
    const directory = scratchDirectory();
    const command = { command: 'sh', args: ['-c', 'echo why; exit 3'], ...filesIn(directory) };
    expect(await (await DetachedProcess.start(command)).ended).toBe('exit code 3');
    expect(readFileSync(command.log_file, 'utf8')).toBe('why\n');
    await expect(DetachedProcess.start({ ...command, command: '/nowhere/x' })).rejects.toThrow('cannot run /nowhere/x');
  });

  it('kills a process that ignores SIGTERM', async () => {
    const directory = scratchDirectory();
    const stubborn = { command: 'sh', args: ['-c', 'trap "" TERM; echo up; sleep 60 & wait'], ...filesIn(directory) };
    const started = await DetachedProcess.start(stubborn);
    endAfterTest(() => started.pid);
    await until('the trap is set', () => readFileSync(stubborn.log_file, 'utf8') === 'up\n');
    const sleeper = Number(spawnSync('pgrep', ['-P', String(started.pid)]).stdout.toString());
    endAfterTest(() => sleeper);
    await started.stop(50);
    expect(await started.ended).toBe('signal SIGKILL');
  });
});

describe('boundLog', () => {
  it('moves what was written last aside, and no more than the limit, without disturbing the writer', () => {
    const path = join(scratchDirectory(), 'x.log');
    writeFileSync(path, 'a'.repeat(10) + 'b'.repeat(20));
    boundLog(path, 40);
    expect(statSync(path).size).toBe(30);
    boundLog(path, 20);
    expect(statSync(path).size).toBe(0);
    expect(readFileSync(`${path}.1`, 'utf8')).toBe('b'.repeat(20));
    boundLog('/nowhere/x.log');
  });

  it('cuts nothing before its end is kept, and replaces what was kept before as a whole', () => {
    const path = join(scratchDirectory(), 'x.log');
    writeFileSync(path, 'a'.repeat(30));
    // Nothing can be kept in its place.
    mkdirSync(`${path}.1`);
    boundLog(path, 20);
    expect(statSync(path).size).toBe(30);
    rmdirSync(`${path}.1`);
    boundLog(path, 20);
    expect(readdirSync(dirname(path)).sort()).toEqual(['x.log', 'x.log.1']);
  });
});
