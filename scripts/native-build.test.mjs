import assert from 'node:assert/strict';
import { test } from 'node:test';
import { afterBuildsIn } from './setup/native.mjs';

test('builds in one directory run one at a time, also after one that failed; others do not wait', async () => {
  const told = [];
  let finish;
  const first = afterBuildsIn('/a', async () => {
    await new Promise((resolve) => {
      finish = resolve;
    });
    told.push('first');
    throw new Error('it failed');
  });
  const second = afterBuildsIn('/a', async () => told.push('second'));
  await afterBuildsIn('/b', async () => told.push('elsewhere'));
  assert.deepEqual(told, ['elsewhere']);
  finish();
  await assert.rejects(first, /it failed/);
  await second;
  assert.deepEqual(told, ['elsewhere', 'first', 'second']);
});
