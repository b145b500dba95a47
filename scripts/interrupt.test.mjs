import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { ROOT } from './setup/paths.mjs';

/** Installs one part, by a command that has a child and does not end by itself while `hold` exists. */
const INSTALL = `
import { existsSync } from 'node:fs';
import { runCommand } from './command-line.mjs';
import { run } from './setup/command.mjs';
import { unlessDone } from './setup/fingerprint.mjs';

await runCommand(async () => {
  const install = async ({ halfMade }) => {
    console.log(halfMade ? 'half-made' : 'new');
    const slow = 'trap "" INT; while [ -e hold ]; do sleep 0.05; done & echo "$! $$" > pids.new; mv pids.new pids; wait';
    for (let n = 0; n < 20; n++) await run('quick', 'true', []);
    return run('install', 'bash', ['-c', slow], { cwd: process.env.FOLDER });
  };
  const done = await unlessDone('part', 'print', [], install);
  if (!done) console.log('done before');
  return 0;
});
`;

function checkout(t, command = INSTALL) {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'orrery-interrupt-')));
  t.after(() => rmSync(folder, { recursive: true }));
  execFileSync('git', ['init', '-q', folder]);
  cpSync(join(ROOT, 'scripts'), join(folder, 'scripts'), { recursive: true });
  writeFileSync(join(folder, 'scripts/install.mjs'), command);
  const run = (more = {}) => {
    const child = spawn(process.execPath, [join(folder, 'scripts/install.mjs')], {
      env: { ...process.env, FOLDER: folder, ...more },
    });
    let told = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (text) => {
        told += text;
      });
    const ended = new Promise((resolve) => child.on('close', (code) => resolve({ code, told: told.trim() })));
    return { child, ended };
  };
  return { run, file: (name) => join(folder, name) };
}

async function until(holds) {
  const deadline = Date.now() + 30_000;
  while (!holds()) {
    assert.ok(Date.now() < deadline, `did not come true: ${holds}`);
    await new Promise((done) => setTimeout(done, 20));
  }
}

/** A command that waits with what it started, as npm starts commands. */
const WAIT = `
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { runCommand } from './command-line.mjs';
import { onInterrupt } from './interrupt.mjs';

await runCommand(async () => {
  const child = spawn('sleep', ['600'], { detached: true });
  const gone = new Promise((done) => child.on('exit', done));
  onInterrupt(() => child.kill());
  writeFileSync(process.env.FOLDER + '/pids', child.pid + ' ' + process.pid);
  await gone;
  return 0;
});
`;

test('a command that npm runs takes down what it started when npm and its shell are gone', async (t) => {
  const { file } = checkout(t, WAIT);
  const script = `"${process.execPath}" "${file('scripts/install.mjs')}"; true`;
  const env = { ...process.env, FOLDER: file('.'), npm_lifecycle_event: 'demo' };
  const shell = spawn('sh', ['-c', script], { env, stdio: 'ignore' });
  await until(() => existsSync(file('pids')));
  shell.kill('SIGKILL');
  const pids = readFileSync(file('pids'), 'utf8').split(' ');
  await until(() => !pids.some(runs));
});

const runs = (pid) => existsSync(`/proc/${pid}`) && !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));

const FAIL = `
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { runCommand } from './command-line.mjs';
import { onInterrupt } from './interrupt.mjs';

await runCommand(async () => {
  const child = spawn('sleep', ['600'], { detached: true });
  const gone = new Promise((done) => child.on('exit', done));
  writeFileSync(process.env.FOLDER + '/pids', String(child.pid));
  onInterrupt(async () => {
    child.kill();
    await gone;
  });
  const fail = () => readFileSync('/nowhere/at/all');
  if (process.env.FAILS === 'timer') setTimeout(fail, 0);
  else Promise.resolve().then(fail);
  await gone;
  return 0;
});
`;

for (const where of ['timer', 'promise'])
  test(`a command takes down what it started when an error in a ${where} is caught by nothing`, async (t) => {
    const { run, file } = checkout(t, FAIL);
    const { code, told } = await run({ FAILS: where }).ended;
    assert.equal(code, 1);
    assert.match(told, /ENOENT.*\/nowhere\/at\/all/);
    assert.equal(runs(readFileSync(file('pids'), 'utf8')), false);
  });

for (const signal of ['SIGINT', 'SIGTERM', 'SIGKILL'])
  test(`a set-up that is ended by ${signal} is begun anew, on what counts as half-made`, async (t) => {
    const { run, file } = checkout(t);
    writeFileSync(file('hold'), '');
    const first = run();
    await until(() => existsSync(file('pids')));
    const pids = readFileSync(file('pids'), 'utf8').trim().split(' ');
    first.child.kill(signal);
    const { code, told } = await first.ended;
    assert.match(told, /^new$|^new\n/);
    assert.doesNotMatch(told, /[Ww]arning/);
    if (signal !== 'SIGKILL') {
      assert.equal(code, 130);
      assert.deepEqual(pids.filter(runs), [], 'nothing that it started goes on');
    }

    rmSync(file('hold'));
    assert.deepEqual(await run().ended, { code: 0, told: 'half-made' });
    assert.deepEqual(await run().ended, { code: 0, told: 'done before' });
  });
