import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { endStages, failuresIn, runStage, skippedIn } from './stage.mjs';

test('a stage reports how it ended', async () => {
  assert.equal((await runStage({ name: 'good', command: 'true' }, 10)).ok, true);
  assert.equal((await runStage({ name: 'bad', command: 'false' }, 10)).ok, false);
});

test('a stage over its limit is ended with all that it started, even what ignores the interrupt', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'orrery-stage-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'pid');
  const stubborn = `trap "" INT; setsid sleep 600 & echo $! > ${file}; wait; sleep 600`;
  const { ok, timedOut, seconds } = await runStage({ name: 'stubborn', command: stubborn }, 0.5, 0.5);
  assert.deepEqual([ok, timedOut], [false, true]);
  assert.ok(seconds < 30);
  const pid = readFileSync(file, 'utf8').trim();
  const running = () => existsSync(`/proc/${pid}`) && !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  for (let attempt = 0; running() && attempt < 50; attempt++) await new Promise((done) => setTimeout(done, 100));
  assert.equal(running(), false);
});

test('a stage in the background gives the same output', async () => {
  const { ok, output } = await runStage({ name: 'told', command: 'echo one; echo two >&2', background: true }, 10);
  assert.equal(ok, true);
  assert.deepEqual(output.trim().split('\n').toSorted(), ['one', 'two']);
});

test('a stage tells the CPU time of all that it ran, apart from its output', async () => {
  const busy = 'node -e "const end = performance.now() + 600; while (performance.now() < end);"';
  const { ok, output, cpuSeconds } = await runStage({ name: 'busy', command: `echo one; (${busy}) && false` }, 60);
  assert.deepEqual([ok, output], [false, 'one\n']);
  // The processor may be shared.
  assert.ok(cpuSeconds > 0.05 && cpuSeconds < 5, `${cpuSeconds} s`);
});

test('running stages can be interrupted together', async () => {
  const stages = ['a', 'b'].map((name) => runStage({ name, command: 'sleep 600' }, 600));
  await endStages();
  for (const { ok } of await Promise.all(stages)) assert.equal(ok, false);
});

test('what the runners skipped is counted', () => {
  assert.equal(skippedIn('12 passed, 3 skipped in 4.1s\n'), 3);
  assert.equal(skippedIn('  3 skipped\n  12 passed (4.1s)\n'), 3);
  const file = ' \x1b[32m✓\x1b[39m board-port.test.ts (40 tests | \x1b[33m2 skipped\x1b[39m) 2659ms\n';
  const files = ' Test Files  7 passed | 1 skipped (8)\n';
  assert.equal(skippedIn(`${file}${files}      Tests  38 passed | \x1b[33m2 skipped\x1b[39m (40)\n`), 2);
  assert.equal(skippedIn('\x1b[2m      Tests \x1b[22m 5 passed | \x1b[33m2 skipped\x1b[39m (7)\n'), 2);
  assert.equal(skippedIn('Ok:                 5\nSkipped:            1\n'), 1);
  assert.equal(skippedIn('all passed'), 0);
});

test('what failed is told in few lines', () => {
  const passed = ' ✓ a.test.ts (3 tests) 20ms\n'.repeat(50);
  const failed = `\x1b[31mFAIL\x1b[39m  b.test.ts > counts\n\nError: 1 is not 2\n- 2\n+ 1\n ❯ b.test.ts:4:5\n${'4|  is(1, 2)\n'.repeat(9)}`;
  assert.deepEqual(failuresIn(passed + failed), [
    'FAIL  b.test.ts > counts',
    'Error: 1 is not 2',
    '- 2',
    '+ 1',
    ' ❯ b.test.ts:4:5',
    ...Array(3).fill('4|  is(1, 2)'),
  ]);
  assert.deepEqual(failuresIn('[  FAILED  ] Nat.Holds (3 ms)\n'), ['[  FAILED  ] Nat.Holds (3 ms)']);
  assert.equal(failuresIn('ok\n'.repeat(100)).length, 12);
  assert.deepEqual(failuresIn('compiling\nsegmentation fault\n'), ['compiling', 'segmentation fault']);
});
