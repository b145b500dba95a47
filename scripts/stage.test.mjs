import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { runStage } from './stage.mjs';

test('a stage tells how it ended', async () => {
  assert.equal((await runStage(['good', 'true'], 10)).ok, true);
  assert.equal((await runStage(['bad', 'false'], 10)).ok, false);
});

test('a stage over its limit is ended with all that it started, even what ignores the interrupt', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'orrery-stage-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'pid');
  const stubborn = `trap "" INT; setsid sleep 600 & echo $! > ${file}; wait; sleep 600`;
  const { ok, timedOut, seconds } = await runStage(['stubborn', stubborn], 0.5, 0.5);
  assert.deepEqual([ok, timedOut], [false, true]);
  assert.ok(seconds < 30);
  const pid = readFileSync(file, 'utf8').trim();
  const running = () => existsSync(`/proc/${pid}`) && !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  for (let attempt = 0; running() && attempt < 50; attempt++) await new Promise((done) => setTimeout(done, 100));
  assert.equal(running(), false);
});
