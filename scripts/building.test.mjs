import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { whileTelling } from './setup/building.mjs';

const file = () => join(mkdtempSync(join(tmpdir(), 'orrery-building-')), 'build/building');

test('the progress of a build is in its file while it runs, also where its folder goes', async () => {
  const at = file();
  await whileTelling(at, async (advance) => {
    assert.equal(readFileSync(at, 'utf8'), 'configuring');
    rmSync(dirname(at), { recursive: true });
    advance('3 of 7');
    assert.equal(readFileSync(at, 'utf8'), '3 of 7');
  });
  assert.equal(existsSync(at), false);
});

test('a build that fails leaves none', async () => {
  const at = file();
  const failing = whileTelling(at, async () => {
    throw new Error('no compiler');
  });
  await assert.rejects(failing, /no compiler/);
  assert.equal(existsSync(at), false);
});
